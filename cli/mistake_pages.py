"""The pages of the catalogue of mistakes: all of them, those of some operations, and one mistake."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches

from rich.text import Text
from veriformer.cli.failures import UserError
from veriformer.cli.output import page_width
from veriformer.conformance_tests.core.text import counted, first_few, plain
from veriformer.conformance_tests.mistakes import Citation, Equivalence, Mistake, PlantedMistake, catalogue, remarks
from veriformer.conformance_tests.mistakes.kills import shown_in
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, labelled, paragraph
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

_LABEL = 17
_COLUMN = 20


def mistakes_listing(operations: tuple[str, ...] = ()) -> Lines:
    """Return a line for each mistake, or for each that some laws of `operations` catch; UserError for other names."""
    for name in operations:
        if name not in OPERATIONS:
            close = get_close_matches(name, OPERATIONS, n=3)
            meant = f"; did you mean {' or '.join(close)}?" if close else ""
            raise UserError(f"no operation is called {plain(name)!r}{meant} (see: veriformer list operations)")
    found = [one for one in catalogue().values() if not operations or {*operations} & {*shown_in(one)}]
    column = max((len(one.slug) for one in found), default=0) + 2
    lines = [line for one in found for line in _row(one, column)]
    for name in operations:
        lines += [blank(), *paragraph(remarks()[name], page_width())] if name in remarks() else []
    return [*lines, blank(), *paragraph(_totals(found), page_width())]


def mistake_page(mistake: Mistake) -> Lines:
    """Return a mistake: what goes wrong, what hides it, the laws that catch it, where it is planted and was met."""
    opening = f"A known mistake: {mistake.sentence.rstrip('.')}. {_seen_by(mistake)}"
    lines = [heading(mistake.slug), *paragraph(opening, page_width()), blank()]
    lines += [line for label, text in _facts(mistake) if text for line in _entry(label, text)]
    if mistake.laws:
        lines += [blank(), heading("Caught by"), *_laws(mistake)]
        lines += _entry("why they hold", f"veriformer explain {mistake.laws[0]}")
    if mistake.planted:
        lines += [blank(), heading("Planted in")]
        lines += [line for planted in mistake.planted for line in _change(planted)]
    if mistake.citations:
        lines += [blank(), heading(f"Met in ({counted(len(mistake.citations), 'report')})")]
        lines += [line for citation in mistake.citations for line in _citation(citation)]
    return lines


def _seen_by(mistake: Mistake) -> str:
    """Return what it breaks, as a sentence, or why nothing sees it."""
    if mistake.laws:
        first = LAWS[mistake.laws[0]]
        others = len(mistake.laws) - 1
        more = f" ({counted(others, 'more law')} {'fails' if others == 1 else 'fail'} too)" if others else ""
        return f"It breaks {first.id}{more}: {first.statement}"
    return f"No law is known to catch it: {mistake.reason.replace('`', '').rstrip('.')}."


def _row(mistake: Mistake, column: int) -> Lines:
    place = first_few(mistake.operations) if mistake.planted else f"not planted ({mistake.group})"
    return [
        *entry(mistake.slug, mistake.sentence, page_width(), indent=0, label_width=column),
        *entry("", place, page_width(), indent=0, label_width=column, style="dim"),
    ]


def _totals(found: list[Mistake]) -> str:
    caught = sum(bool(one.planted) for one in found)
    reported = [one for one in found if one.citations]
    reports = len({citation.issue for one in reported for citation in one.citations})
    return (
        f"{counted(len(found), 'mistake')}: {caught} planted in correct programs and caught by laws, {len(reported)} "
        f"reported in {counted(reports, 'public issue')}. One of them: veriformer explain MISTAKE"
    )


def _facts(mistake: Mistake) -> tuple[tuple[str, str], ...]:
    return (
        ("as code", mistake.formula),
        ("operations", ", ".join(shown_in(mistake))),
        ("kind", mistake.group),
        ("hidden when", mistake.hidden_when),
        ("shows in", "; ".join(mistake.regions)),
        ("effect", mistake.effect),
        ("changes nothing", _equivalence(mistake.equivalence)),
        ("not planted", mistake.reason.replace("`", "")),
    )


def _equivalence(known: Equivalence | None) -> str:
    if known is None:
        return ""
    return f"{known.where}: veriformer derive {known.derivation}, step “{known.step}”"


def _laws(mistake: Mistake) -> Lines:
    """Return the laws, operation by operation."""
    lines: Lines = []
    for operation in mistake.operations:
        lines += _entry("in", operation)
        for law in (law for law in mistake.laws if LAWS[law].operation.name == operation):
            lines += entry(
                law, LAWS[law].statement, page_width(), indent=4, label_width=max(map(len, mistake.laws)) + 2
            )
    return lines


def _change(planted: PlantedMistake) -> Lines:
    changed = [
        Text(part, style="red" if line[0] == "-" else "green")
        for line in planted.changed_lines()
        for part in textwrap.wrap(line, page_width(), initial_indent="    ", subsequent_indent=" " * 10)
    ]
    return [*entry(planted.source, ", ".join(planted.laws), page_width(), indent=2, label_width=_COLUMN + 6), *changed]


def _citation(citation: Citation) -> Lines:
    about = f"{plain(citation.symptom)} ({citation.evidence})"
    return [
        *labelled("", [citation.url], indent=2, label_width=0),
        *paragraph(plain(citation.title), page_width(), indent=4),
        *paragraph(about, page_width(), indent=4, style="dim"),
    ]


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
