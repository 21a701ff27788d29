"""`mistakes_caught.md`: the mistakes that are planted in correct programs, and the laws that catch them."""

from __future__ import annotations

from veriformer.conformance_tests.mistakes import Mistake, catalogue, equivalent, planted, remarks
from veriformer.conformance_tests.mistakes.kills import shown_in
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS, Operation

from pages.markdown import code, counted, link, notice, page, prose, table
from pages.references import derivation_page, law_link, mistake_link, operation_link, step_heading

PATH = "mistakes_caught.md"
FOLDER = "conformance_tests/mistakes"

_FEW = 3
_INTRODUCTION = """\
Each line names a mistake and a law about exactly this mistake. `tests/conformance_tests/test_planted_mistakes.py`
plants the mistake in a correct program: the law fails on that program, and its counterexample is small enough to be
read. The page of a mistake draws that case, says what hides the mistake, and names the public reports of it. No public
report is known of a mistake without an issue. It was planted because some law catches none of the reported mistakes."""
_UNDONE = """\
These are caught where the tables above say. Elsewhere they change nothing beyond rounding, which is proved; a program
with each of them conforms, and `tests/conformance_tests/test_equivalent_mistakes.py` runs it."""
_REST = "The other mistakes of the catalogue, and why each of them is not planted:"


def mistakes_page() -> dict[str, str]:
    """Return the page of planted mistakes, by its path."""
    sections = (_section(operation) for operation in OPERATIONS.values() if caught_in(operation))
    undone = page("## Undone by an exact softmax", _UNDONE, _equivalent())
    rest = page("## Reported and not planted", _REST, _not_planted())
    return {PATH: page(notice(FOLDER), "# Mistakes caught", _INTRODUCTION, _totals(), *sections, undone, rest)}


def caught_in(operation: Operation) -> list[Mistake]:
    """Return what some laws of an operation catch; reported mistakes come first."""
    slugs = dict.fromkeys(entry.slug for entry in planted() if operation.name in entry.operations)
    return sorted((catalogue()[slug] for slug in slugs), key=lambda mistake: not mistake.citations)


def mistakes_table(operation: Operation, folder: str = "") -> str:
    """Return the mistakes that some laws of an operation catch, with the reports and the laws."""
    header = ("mistake", "what goes wrong", "issues", "planted in", "law that catches it")
    return table(header, (_row(mistake, operation, folder) for mistake in caught_in(operation)))


def others_shown_in(operation: Operation, folder: str = "") -> str:
    """Return links to the mistakes that break laws of an operation, though none of its laws is about them."""
    caught = {mistake.slug for mistake in caught_in(operation)}
    others = (one.slug for one in catalogue().values() if one.slug not in caught and operation.name in shown_in(one))
    links = ", ".join(mistake_link(slug, folder) for slug in others)
    return f"Laws of this operation fail on these mistakes too, though none is about them: {links}." if links else ""


def _section(operation: Operation) -> str:
    about = f"{operation_link(operation.name)}: {operation.summary}"
    return page(f"## {code(operation.name)}", about, remarks().get(operation.name, ""), mistakes_table(operation))


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
    return "\n".join(
        f"- {mistake_link(slug)}, {one.where}: {link(code(one.derivation), derivation_page(one.derivation))}, step "
        f"{link(one.step, derivation_page(one.derivation), step_heading(one.derivation, one.step))}"
        for slug, one in equivalent().items()
    )


def _not_planted() -> str:
    """Return a line for each mistake."""
    rows = ((mistake_link(one.slug), prose(one.sentence), one.reason) for one in catalogue().values() if one.reason)
    return table(("mistake", "what goes wrong", "why it is not planted"), rows)


def _row(mistake: Mistake, operation: Operation, folder: str) -> tuple[str, ...]:
    entries = [entry for entry in mistake.planted if operation.name in entry.operations]
    named = dict.fromkeys(law for entry in entries for law in entry.laws)
    laws = ", ".join(law_link(LAWS[law], folder) for law in named if LAWS[law].operation is operation)
    frameworks = ", ".join(dict.fromkeys(entry.framework for entry in entries))
    issues = ", ".join(link(citation.issue, citation.url) for citation in mistake.citations[:_FEW])
    return mistake_link(mistake.slug, folder), prose(mistake.sentence), issues, frameworks, laws
