"""The laws of one implementation of operations as what was checked, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veriformer.conformance_tests.core.law_result import LawResult, is_broken, is_unexpected
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.core.text import counted, first_few
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.diagnosis.explanation import Explanation, explanations
from veriformer.conformance_tests.reports.definitions import place_in
from veriformer.conformance_tests.reports.diagnoses import findings_of
from veriformer.conformance_tests.reports.exports.outcome import Checked, Level, Problem, Status
from veriformer.conformance_tests.reports.layout import as_text, blank
from veriformer.conformance_tests.reports.locations import Place, raised_at
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.reports.unjudged import by_reason, circumstances
from veriformer.conformance_tests.reports.violation import evidence, title
from veriformer.conformance_tests.run.report import Report

_OPTIONS = Options(traceback=True)
_MOST_NAMES = 3


def by_operation(report: Report) -> dict[str, list[LawResult]]:
    """Return the results of every operation of which a law was tried or should have been, by its name."""
    groups: dict[str, list[LawResult]] = {}
    for result in report.results:
        if result.status != "not_declared":
            groups.setdefault(result.law.operation.name, []).append(result)
    return groups


def checked_laws(report: Report, prefix: str = "") -> Iterator[Checked]:
    """Yield each declared law; `prefix` comes before the name of its operation."""
    for operation, results in by_operation(report).items():
        place = place_in(report, operation) if any(map(is_broken, results)) else None
        for result in results:
            yield _checked(report, result, prefix + operation, place)


def _checked(report: Report, result: LawResult, group: str, place: Place | None) -> Checked:
    status, sentence = _status(result)
    return Checked(
        group,
        result.law.id,
        status,
        sentence,
        text_of(report, result) if status in ("failed", "error") else "",
        result.seconds,
        (raised_at(target(report), result.traceback) or place) if status in ("failed", "error") else None,
    )


def _status(result: LawResult) -> tuple[Status, str]:
    if result.expected_failure is not None and is_broken(result):
        return "skipped", f"expected to fail: {result.expected_failure}"
    if result.status == "failed":
        return "failed", result.law.statement
    if result.status == "error":
        return "error", result.reason
    return ("passed", "") if result.status == "passed" else ("skipped", result.reason or "not tried")


def text_of(report: Report, result: LawResult) -> str:
    """Return the case on which a law fails or cannot be judged, over several lines."""
    if result.status == "error":
        return as_text(circumstances(report, result, _OPTIONS))
    return as_text([*title(result, _OPTIONS.width), blank(), *evidence(report, result, _OPTIONS)])


def problems_with_laws(report: Report) -> Iterator[Problem]:
    """Yield what is wrong: each mistake once for all laws that it breaks, then the laws that no mistake explains."""
    broken = {
        operation: [one for one in results if is_broken(one)] for operation, results in by_operation(report).items()
    }
    unexpected = {name for name, results in broken.items() if any(map(is_unexpected, results))}
    for operation, results in broken.items():
        # The gradients of what is wrong are wrong too: that is no second problem.
        if results and report.derived.get(operation) not in unexpected:
            yield from _Operation(report, operation, results).problems()
    for sentence in report.stale:
        yield Problem("stale_expected_failure", "error", sentence, report.implementation)


@dataclass(frozen=True)
class _Operation:
    """One operation of a report, with its broken laws."""

    report: Report
    name: str
    broken: Sequence[LawResult]

    @property
    def place(self) -> Place | None:
        return place_in(self.report, self.name)

    def problems(self) -> Iterator[Problem]:
        diagnosis = next((one for one in self.report.diagnoses if one.operation == self.name), None)
        told: set[str] = set()
        if diagnosis is not None and diagnosis.suspects:
            told = set(diagnosis.laws) - set(diagnosis.unexplained)
            explained = [one for one in self.broken if one.law.id in told]
            if explained:
                yield self._diagnosed(diagnosis, explained)
        left = [one for one in self.broken if one.law.id not in told and is_unexpected(one)]
        yield from (self._law(one) for one in most_telling_first(left))
        for group in by_reason(one for one in left if one.status == "error"):
            yield self._error(group)
        yield from (self._expected(one) for one in self.broken if one.expected_failure is not None)

    def _diagnosed(self, diagnosis: Diagnosis, results: Sequence[LawResult]) -> Problem:
        first = next(iter(most_telling_first(results)), results[0])
        suspect, findings = diagnosis.suspects[0], findings_of(self.report, self.name)
        mistakes = explanations(self.name, suspect, findings)
        say = f"{counted(len(results), 'law')} {'says' if len(results) == 1 else 'say'} so"
        if diagnosis.is_certain:
            rule = next((one.name for one in mistakes if one.recorded), first.law.id)
            sentence = f"{_named([one.name for one in mistakes])} in {self.name}: {_all(mistakes)}; {say}"
        else:
            rule = first.law.id
            names = [" and ".join(one.mistakes) for one in diagnosis.suspects]
            others = f" and {counted(len(results) - 1, 'other law')}" if len(results) > 1 else ""
            sentence = f"{self.name} breaks {rule}{others}: {first.law.statement.rstrip('.')}; perhaps {_either(names)}"
        return self._problem(rule, sentence, results, first)

    def _law(self, result: LawResult) -> Problem:
        sentence = f"{self.name} breaks {result.law.id}: {result.law.statement.rstrip('.')}"
        return self._problem(result.law.id, sentence, [result], result)

    def _error(self, group: Sequence[LawResult]) -> Problem:
        sentence = f"{counted(len(group), 'law')} of {self.name} could not be judged: {group[0].reason}"
        return self._problem(group[0].law.id, sentence, group, group[0])

    def _expected(self, result: LawResult) -> Problem:
        reason = result.expected_failure or ""
        sentence = f"{self.name} breaks {result.law.id}, as expected: {reason}"
        return Problem(result.law.id, "note", sentence, self.name, self.place, (result.law.id,), expected=reason)

    def _problem(self, rule: str, sentence: str, results: Sequence[LawResult], first: LawResult) -> Problem:
        must = any(one.law.obligation == "must" for one in results)
        level: Level = "error" if must else "warning"
        place = raised_at(target(self.report), first.traceback) or self.place
        laws = tuple(one.law.id for one in results)
        return Problem(rule, level, sentence, self.name, place, laws, text_of(self.report, first))


def _named(names: Sequence[str]) -> str:
    return " and ".join(names)


def _all(mistakes: Sequence[Explanation]) -> str:
    return "; ".join(one.sentence.rstrip(".") for one in mistakes)


def _either(names: Sequence[str]) -> str:
    return first_few(names, _MOST_NAMES).replace(", ", " or ")
