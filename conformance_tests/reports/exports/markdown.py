"""A comment on a pull request: the verdict, the counts, and each problem with its smallest case in a fold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from veriformer.conformance_tests.core.text import counted, first_few, plain, printable
from veriformer.conformance_tests.reports.exports.outcome import Outcome, Problem, Table
from veriformer.conformance_tests.reports.locations import from_root

# GitHub takes 65,536 characters.
LONGEST = 65_000
_LONGEST_LINE = 1000
_LONGEST_CASE = 6000
_MOST_LAWS = 12
# The workflow finds its own comment by it.
_MARK = "<!-- veriformer -->"
_RESERVED = 200
# What Markdown or HTML could take for its own, anywhere or at the beginning of a line only.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|&~@$!]")
_AT_THE_BEGINNING = re.compile(r"^(\d*)([-+=.)])")
_WOULD_LINK = re.compile(r"[@#]|:(?=//)|www(?=\.)", re.IGNORECASE)


def markdown(outcomes: Sequence[Outcome], longest: int = LONGEST) -> str:
    """Return a text of at most `longest` characters in which names and messages are text and nothing else."""
    text, left_out = _MARK + "\n", 0
    for block in (block for outcome in outcomes for block in _blocks(outcome)):
        if len(text) + len(block) + 1 > longest - _RESERVED:
            left_out += 1
        else:
            text += "\n" + block
    if left_out:
        text += f"\n{counted(left_out, 'section')} left out, since a comment holds no more; the log has them.\n"
    return text


def _blocks(outcome: Outcome) -> Iterator[str]:
    mark = "✓" if outcome.conforms else "✗" if outcome.ran else "!"
    facts = f"\n{prose(outcome.facts)}\n" if outcome.facts else ""
    yield f"### {mark} {prose(outcome.sentence)}\n{facts}"
    if outcome.table is not None:
        yield _table(outcome.table)
    yield from map(_problem, outcome.problems)
    yield from (f"> {prose(notice)}\n" for notice in outcome.notices)


def _table(table: Table) -> str:
    rows = [" | ".join(map(prose, row)) for row in (table.header, *table.rows)]
    return "".join(f"| {row} |\n" for row in (rows[0], " | ".join(["---"] * len(table.header)), *rows[1:]))


def _problem(problem: Problem) -> str:
    said = []
    if problem.place is not None:
        said.append(code(f"{from_root(problem.place.file) or problem.place.file}:{problem.place.line}"))
    if len(problem.laws) > 1:
        said.append(f"Broken: {code(first_few(problem.laws, _MOST_LAWS))}")
    if problem.text.strip():
        said.append(_block(problem.text))
    inside = "".join(f"{one}\n\n" for one in said)
    return f"<details><summary>{_html(problem.sentence)}</summary>\n\n{inside}</details>\n"


def _html(text: str) -> str:
    # Where a line begins with a tag of this kind, Markdown takes it for HTML: a backslash would escape nothing.
    return html.escape(_unlinked(plain(text, _LONGEST_LINE)))


def _block(text: str) -> str:
    shown = printable(text.strip("\n"))
    if len(shown) > _LONGEST_CASE:
        shown = f"{shown[:_LONGEST_CASE].rpartition(chr(10))[0]}\n…"
    longest_run = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}text\n{shown}\n{fence}"


def prose(text: str) -> str:
    """Return a line that Markdown shows as it is: without emphasis, HTML, links or mentions."""
    escaped = _SPECIAL.sub(r"\\\g<0>", _unlinked(plain(text, _LONGEST_LINE).strip()))
    return _AT_THE_BEGINNING.sub(r"\1\\\2", escaped)


def code(text: str) -> str:
    """Return a line as code."""
    return f"<code>{prose(text)}</code>"


def _unlinked(text: str) -> str:
    # A space of no width after the character: no mention, no reference to an issue, no address. It is put into the text
    # as it is meant: the characters that escape it may be among these.
    return _WOULD_LINK.sub("\\g<0>\u200b", text)
