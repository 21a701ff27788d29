"""`mistakes_caught.md`: the mistakes that are planted in correct programs, and the laws that catch them."""

from __future__ import annotations

import re

from veriformer.conformance_tests.mistakes import Mistake, catalogue, equivalent, planted, remarks
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS, Operation

from pages.laws import law_link
from pages.markdown import code, counted, link, notice, page, table

PATH = "mistakes_caught.md"
FOLDER = "conformance_tests/mistakes"

_FEW = 3
_INTRODUCTION = """\
Each line is a mistake that `tests/conformance_tests/test_planted_mistakes.py` makes in a correct file, and a law about
that very thing: run on the changed file, the law fails, and its counterexample is small enough to be read. The issues
are public reports of the mistake; there are more than are shown. A mistake without an issue is of the same sort, and
shows that a law bites which no reported mistake reaches. `veriformer explain MISTAKE` says what hides a mistake, in
which regions of the case space it shows, and which lines are changed."""
_UNDONE = """\
These are caught where the tables above say. Elsewhere they change nothing beyond rounding, which is proved; a program
with each of them conforms, and `tests/conformance_tests/test_equivalent_mistakes.py` runs it."""
_REST = "The other mistakes of the catalogue, and why each of them is not planted:"


def mistakes_page() -> dict[str, str]:
    """Return the page of planted mistakes, by its path."""
    sections = (
        page(f"## {code(name)}", remarks().get(name, ""), _table(operation))
        for name, operation in OPERATIONS.items()
        if _caught(operation)
    )
    undone = page("## Undone by an exact softmax", _UNDONE, _equivalent())
    rest = page("## Reported and not planted", _REST, _not_planted())
    return {PATH: page(notice(FOLDER), "# Mistakes caught", _INTRODUCTION, _totals(), *sections, undone, rest)}


def _caught(operation: Operation) -> list[Mistake]:
    """Return what some laws of an operation catch; reported mistakes come first."""
    slugs = dict.fromkeys(entry.slug for entry in planted() if operation.name in entry.operations)
    return sorted((catalogue()[slug] for slug in slugs), key=lambda mistake: not mistake.citations)


def _totals() -> str:
    reported = [mistake for mistake in catalogue().values() if mistake.citations]
    known = sum(bool(mistake.planted) for mistake in reported)
    everything = sum(bool(mistake.planted) for mistake in catalogue().values())
    return (
        f"{counted(everything, 'mistake')} are planted, {known} of them among the {len(reported)} of "
        f"{link('the catalogue', f'../{FOLDER}/catalogue.json')}; every operation has at least {_FEW} of those."
    )


def _equivalent() -> str:
    """Return a line for each mistake that changes nothing somewhere."""
    known = equivalent()
    proofs = {slug: link(code(one.derivation), f"derivations/{one.derivation}.md") for slug, one in known.items()}
    lines = (f"- {code(slug)}, {one.where}: {proofs[slug]}, step “{one.step}”" for slug, one in known.items())
    return "\n".join(lines)


def _not_planted() -> str:
    """Return a line for each mistake."""
    rows = ((code(one.slug), _prose(one.sentence), one.reason) for one in catalogue().values() if one.reason)
    return table(("mistake", "what goes wrong", "why it is not planted"), rows)


def _table(operation: Operation) -> str:
    header = ("mistake", "what goes wrong", "issues", "planted in", "law that catches it")
    return table(header, (_row(mistake, operation) for mistake in _caught(operation)))


def _row(mistake: Mistake, operation: Operation) -> tuple[str, ...]:
    entries = [entry for entry in mistake.planted if operation.name in entry.operations]
    named = dict.fromkeys(law for entry in entries for law in entry.laws)
    laws = ", ".join(law_link(LAWS[law]) for law in named if LAWS[law].operation is operation)
    frameworks = ", ".join(dict.fromkeys(entry.framework for entry in entries))
    issues = ", ".join(link(citation.issue, citation.url) for citation in mistake.citations[:_FEW])
    return code(mistake.slug), _prose(mistake.sentence), issues, frameworks, laws


def _prose(text: str) -> str:
    r"""Return text with what Markdown would read as its own escaped, such as `W_k` or `(n*k)`."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)
