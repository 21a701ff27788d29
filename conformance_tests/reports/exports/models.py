"""The outcome of checking a whole model."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.core.text import counted, joined
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.recognition.findings import Departure, Part
from veriformer.conformance_tests.recognition.findings import Status as PartStatus
from veriformer.conformance_tests.reports.departures import CERTAIN, departure_lines, gathered, place_of
from veriformer.conformance_tests.reports.exports.laws import checked_laws, text_of
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem, Status, Table
from veriformer.conformance_tests.reports.layout import as_text
from veriformer.conformance_tests.reports.locations import Place, definition
from veriformer.conformance_tests.reports.model import verdict_sentence
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_report import ModelReport

_STATUSES: dict[PartStatus, Status] = {"holds": "passed", "departs": "failed", "unrecognised": "skipped"}


def model_outcome(report: ModelReport) -> Outcome:
    """Return the outcome of checking a model."""
    recognition = report.recognition
    return Outcome(
        report.implementation,
        verdict_sentence(report),
        report.verdict == "conforms",
        joined([recognition.framework, recognition.dtype, f"seed {report.seed}"]),
        tuple(_checked(report)),
        tuple(_problems(report)),
        _table(report),
        report.notices,
        report.seconds,
    )


def _place(report: ModelReport, departure: Departure | None = None) -> Place | None:
    if departure is not None and departure.file:
        return Place(departure.file, max(departure.line, 1))
    return definition(report.source)


def _checked(report: ModelReport) -> Iterator[Checked]:
    """Yield the parts, departures that belong to no part, and the laws."""
    if not report.is_recognised:
        yield Checked("model", "recognition", "error", report.reason, place=_place(report))
    of_part = {part.path: [one for one in report.departures if one.path == part.path] for part in report.parts}
    for part in report.parts:
        yield _part(report, part, of_part[part.path])
    for one in report.departures:
        if one.path not in of_part:
            yield Checked("model", one.path or one.step, "failed", one.sentence, place=_place(report, one))
    for judged in report.laws:
        yield from _laws(judged)


def _part(report: ModelReport, part: Part, departures: list[Departure]) -> Checked:
    status = "failed" if departures else _STATUSES[part.status]
    sentence = "; ".join(one.sentence.rstrip(".") for one in departures) or (
        "" if status == "passed" else f"{part.summary or part.role}: {part.status}"
    )
    place = _place(report, departures[0] if departures else None) if status == "failed" else None
    return Checked(part.role or "part", part.path or part.role, status, sentence, place=place)


def _laws(judged: Judged) -> Iterator[Checked]:
    """Yield the laws of a model or of a module; one that does not count against the model is skipped."""
    counting = {one.law.id for one in judged.broken}
    for one in checked_laws(judged.report, f"{judged.path}." if judged.path else ""):
        if one.status in ("failed", "error") and one.name not in counting:
            yield Checked(one.group, one.name, "skipped", f"does not count: {one.sentence}", one.text, one.seconds)
        else:
            yield one


def _problems(report: ModelReport) -> Iterator[Problem]:
    for group in gathered(report.departures):
        yield _departure(report, group)
    for judged in report.laws:
        yield from _broken(report, judged)
    if not report.is_recognised:
        yield Problem("not_recognised", "error", report.reason, report.implementation, _place(report))


def _departure(report: ModelReport, group: list[Departure]) -> Problem:
    one = group[0]
    where = place_of(group)
    certain = [suspect.name for suspect in one.suspects if len(one.suspects) == 1 and suspect.confidence >= CERTAIN]
    rule = next((name for name in certain if name in catalogue()), f"departs_in_{one.step}")
    named = f" ({' or '.join(suspect.name for suspect in one.suspects)})" if one.suspects else ""
    sentence = f"{where} departs: {one.sentence.rstrip('.')}{named}"
    text = as_text(departure_lines(group, Options()))
    return Problem(rule, "error", sentence, where, _place(report, one), text=text)


def _broken(report: ModelReport, judged: Judged) -> Iterator[Problem]:
    where = judged.path or "the model"
    counting = most_telling_first(judged.broken)
    counting += [one for one in judged.broken if one not in counting]
    for result in counting:
        said = result.reason if result.status == "error" else result.law.statement
        sentence = f"{where} breaks {result.law.id}: {said.rstrip('.')}"
        text = text_of(judged.report, result)
        yield Problem(result.law.id, "error", sentence, where, _place(report), (result.law.id,), text)


def _table(report: ModelReport) -> Table:
    counts = report.counts
    rows = [
        ("parts that hold", counts["holding"]),
        ("parts that depart", counts["departing"]),
        ("parts not recognised", counts["unrecognised"]),
        ("departures", counts["departures"]),
        ("laws that hold", counts["passed"]),
        ("laws violated", counts["failed"]),
    ]
    understood = counted(report.recognition.captured, "step")
    texts = [(name, f"{number:,}") for name, number in rows]
    texts.append(("understood", f"{report.recognition.understood:,} of {understood}"))
    return Table(("of the model", "number"), tuple(texts))
