"""What is wrong with an implementation, sorted by what is behind it: a mistake, something unknown, or an exception."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from veriformer.conformance_tests.core.law_result import LawResult, is_unexpected
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.diagnosis.explanation import Explanation, explanations
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.reports.diagnoses import LIKELY, findings_of
from veriformer.conformance_tests.reports.unjudged import essence
from veriformer.conformance_tests.run.report import Report


@dataclass(frozen=True)
class Fault:
    """One cause: the operations where it shows, the laws that it breaks, those that say most first.

    `following` are broken laws of backward passes that a framework derived from one of the operations. A cause without
    a diagnosis is unknown, or the exception that `reason` tells.
    """

    report: Report
    operations: tuple[str, ...]
    laws: tuple[LawResult, ...]
    following: tuple[LawResult, ...] = ()
    diagnosis: Diagnosis | None = None
    reason: str = ""

    @cached_property
    def explained(self) -> tuple[tuple[Explanation, ...], ...]:
        """The mistakes of each suspect in words, the likeliest first."""
        if self.diagnosis is None:
            return ()
        findings = findings_of(self.report, self.diagnosis.operation)
        return tuple(explanations(self.diagnosis.operation, one, findings) for one in self.diagnosis.suspects)

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The names of the likeliest mistakes, several where they are made together; none where nothing is known."""
        return self.diagnosis.suspects[0].mistakes if self.diagnosis and self.diagnosis.suspects else ()

    @property
    def is_certain(self) -> bool:
        """Whether the results are those of one mistake, or of mistakes made together, and of no other."""
        return self.diagnosis is not None and self.diagnosis.is_certain

    @property
    def sure(self) -> str:
        """How sure the name is, in a few words; empty where there is no name."""
        if not self.mistakes or self.diagnosis is None:
            return ""
        if self.diagnosis.how == "reproduced":
            few = len(self.diagnosis.suspects)
            if few > 1:
                return f"one of {few} that give these outputs"
            return "certain" if self.diagnosis.suspects[0].confidence >= 1 else "likely"
        likely = sum(suspect.confidence for suspect in self.diagnosis.suspects) >= LIKELY
        return "likely, by the laws that fail" if likely else "perhaps, by the laws that fail"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all its laws."""
        return tuple(result.law.id for result in (*self.laws, *self.following))


def faults_of(report: Report) -> tuple[Fault, ...]:
    """Return what is wrong, certain mistakes first, exceptions that nothing explains last."""
    broken = [result for result in report.results if is_unexpected(result)]
    by_operation: dict[str, list[LawResult]] = {}
    for result in broken:
        by_operation.setdefault(result.law.operation.name, []).append(result)
    origins = {name: report.derived[name] for name in by_operation if report.derived.get(name) in by_operation}
    found: list[Fault] = []
    for name, results in by_operation.items():
        if name not in origins:
            found = _merged(found, _of_operation(report, name, results))
    for name, origin in origins.items():
        found = _following(found, origin, by_operation[name])
    return tuple(sorted(found, key=lambda fault: (not fault.is_certain, not fault.mistakes, bool(fault.reason))))


def _of_operation(report: Report, operation: str, results: list[LawResult]) -> list[Fault]:
    diagnosis = next((one for one in report.diagnoses if one.operation == operation), None)
    failed = most_telling_first(results)
    errors = [result for result in results if result.status == "error"]
    if diagnosis is not None and diagnosis.suspects:
        # A law about exactly this mistake shows it best.
        about = {
            law for name in diagnosis.suspects[0].mistakes if name in catalogue() for law in catalogue()[name].laws
        }
        laws = sorted((*failed, *errors), key=lambda result: result.law.id not in about)
        return [Fault(report, (operation,), tuple(laws), diagnosis=diagnosis)]
    unknown = [Fault(report, (operation,), tuple(failed), diagnosis=diagnosis)] if failed else []
    groups: dict[str, list[LawResult]] = {}
    for result in errors:
        groups.setdefault(essence(result), []).append(result)
    return [*unknown, *(Fault(report, (operation,), tuple(group), reason=group[0].reason) for group in groups.values())]


def _merged(found: list[Fault], more: Iterable[Fault]) -> list[Fault]:
    """Return faults with others, those of one cause together."""
    merged = list(found)
    for fault in more:
        same = next((number for number, one in enumerate(merged) if _is_same(one, fault)), None)
        if same is None:
            merged.append(fault)
        else:
            one = merged[same]
            operations = tuple(dict.fromkeys((*one.operations, *fault.operations)))
            merged[same] = replace(one, operations=operations, laws=(*one.laws, *fault.laws))
    return merged


def _is_same(one: Fault, other: Fault) -> bool:
    if one.reason and other.reason:
        return essence(one.laws[0]) == essence(other.laws[0])
    return one.is_certain and other.is_certain and one.mistakes == other.mistakes


def _following(found: list[Fault], origin: str, results: list[LawResult]) -> list[Fault]:
    """Return faults, the first of an operation with the broken laws of what was derived from it."""
    number = next(number for number, fault in enumerate(found) if origin in fault.operations)
    changed = replace(found[number], following=(*found[number].following, *results))
    return [*found[:number], changed, *found[number + 1 :]]
