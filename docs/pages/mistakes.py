"""`mistakes_caught.md`: the mistakes that the tests plant in correct files, and the laws that catch them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

from pages.laws import law_link
from pages.markdown import code, counted, link, notice, page, table

PATH = "mistakes_caught.md"
FOLDER = "tests/conformance_tests/planted"

_FEW = 3
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
_INTRODUCTION = """\
Each line is a mistake that `tests/conformance_tests/test_planted_mistakes.py` makes in a correct file, and a law about
that very thing: run on the changed file, the law fails, and its counterexample is small enough to be read. The issues
are public reports of the mistake; there are more than are shown. A mistake without an issue is of the same sort, and
shows that a law bites which no reported mistake reaches."""
_REST = "The other mistakes of the catalogue, by the reason why they are not planted. They are:"


def mistakes_page(root: Path) -> dict[str, str]:
    """Return the page of planted mistakes, by its path; `root` is the folder of the repository."""
    folder = root / FOLDER
    catalogue, remarks, left_out = (_read(folder / f"{name}.json") for name in ("catalogue", "remarks", "not_planted"))
    caught = _caught(folder)
    sections = (
        page(f"## {code(name)}", remarks.get(name, ""), _table(caught[name], catalogue))
        for name in OPERATIONS
        if name in caught
    )
    rest = page("## Reported and not planted", _REST, _not_planted(left_out, caught))
    return {PATH: page(notice(FOLDER), "# Mistakes caught", _INTRODUCTION, _totals(caught, catalogue), *sections, rest)}


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _caught(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, for each operation, its mistakes by their slug: a summary and the laws that catch them."""
    entries = [
        entry
        for file in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["mistake"]
    ]
    summaries = {entry["slug"]: entry["summary"] for entry in entries if "summary" in entry}
    caught: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in entries:
        for law in entry["laws"]:
            mistakes = caught.setdefault(LAWS[law].operation.name, {})
            empty = {"summary": summaries.get(entry["slug"], ""), "laws": {}, "frameworks": {}}
            mistake = mistakes.setdefault(entry["slug"], empty)
            mistake["laws"][law] = True
            mistake["frameworks"][entry["source"].rpartition("_")[2]] = True
    return caught


def _totals(caught: dict[str, dict[str, dict[str, Any]]], catalogue: dict[str, Any]) -> str:
    slugs = {slug for mistakes in caught.values() for slug in mistakes}
    known = len(slugs & catalogue.keys())
    return (
        f"{counted(len(slugs), 'mistake')} are planted, {known} of them among the {len(catalogue)} of "
        f"{link('the catalogue', f'../{FOLDER}/catalogue.json')}; every operation has at least {_FEW} of those."
    )


def _not_planted(left_out: dict[str, list[str]], caught: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return a line for each reason, without the mistakes that have been planted since."""
    planted = {slug for mistakes in caught.values() for slug in mistakes}
    kept = {reason: [slug for slug in slugs if slug not in planted] for reason, slugs in left_out.items()}
    return "\n".join(f"- {reason}: {', '.join(map(code, slugs))}" for reason, slugs in kept.items() if slugs)


def _table(mistakes: dict[str, dict[str, Any]], catalogue: dict[str, Any]) -> str:
    # Those with issues come first.
    ordered = sorted(mistakes.items(), key=lambda item: item[0] not in catalogue)
    rows = (_row(slug, mistake, catalogue.get(slug)) for slug, mistake in ordered)
    header = ("mistake", "what goes wrong", "issues", "planted in", "law that catches it")
    return table(header, rows)


def _row(slug: str, mistake: dict[str, Any], known: dict[str, Any] | None) -> tuple[str, ...]:
    laws = ", ".join(law_link(LAWS[law]) for law in mistake["laws"])
    frameworks = ", ".join(mistake["frameworks"])
    if known is None:
        return code(slug), _prose(mistake["summary"]), "", frameworks, laws
    issues = ", ".join(map(_issue, known["issues"][:_FEW]))
    return code(slug), _prose(known["mistake"]), issues, frameworks, laws


def _issue(reference: str) -> str:
    found = _ISSUE.fullmatch(reference)
    if found is None:
        raise ValueError(f"{reference!r} is no issue; expected owner/name#number")
    return link(reference, f"https://github.com/{found[1]}/issues/{found[2]}")


def _prose(text: str) -> str:
    r"""Return text with what Markdown would read as its own escaped, such as `W_k` or `(n*k)`."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)
