"""Each law of an implementation as a test that passes, fails or is skipped under pytest."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.matching.classes import classes_in
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult, is_broken
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.operations.laws import laws as every_law
from veriformer.conformance_tests.reports.console import law_text
from veriformer.conformance_tests.reports.definitions import function_of
from veriformer.conformance_tests.reports.gist import gist
from veriformer.conformance_tests.reports.layout import as_text, labelled
from veriformer.conformance_tests.reports.locations import Place, definition, from_root, raised_at
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.targets import target, target_named
from veriformer.conformance_tests.run.applicability import not_declared
from veriformer.conformance_tests.run.left_out import reasons_by_name
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run

_MOST_ATTEMPTS = 3


class LawFailure(pytest.fail.Exception):  # type: ignore[misc]  # a variable, to mypy
    """A broken law: the text that pytest shows, its gist in one line, and where the operation stands or raised."""

    # As of pytest's own: the summary would begin with the path of this module otherwise.
    __module__ = "builtins"

    def __init__(self, text: str, gist: str, place: Place | None) -> None:
        super().__init__(text, pytrace=False)
        self.gist = gist
        self.place = place


class Diagnoses:
    """The diagnoses of one run's operations: each is kept once found, and tried a few times otherwise."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: dict[str, Diagnosis] = {}
        self._attempts = Counter[str]()

    def of(self, result: LawResult) -> tuple[Diagnosis, ...]:
        """Return the mistake whose outputs an operation returns; empty if one law's failure does not determine it."""
        operation = result.law.operation.name
        if operation not in self._found and self._attempts[operation] < _MOST_ATTEMPTS:
            self._attempts[operation] += 1
            for diagnosis in self._run.diagnoses([result]):
                if diagnosis.how == "reproduced":
                    self._found[operation] = diagnosis
        found = self._found.get(operation)
        return () if found is None else (found,)


class LawTest:
    """A law, ready to be tried on an implementation: call it.

    `place` is where the operation is defined; None where that is no file of the user.
    """

    def __init__(self, run: Run, law: Law, diagnoses: Diagnoses, place: Place | None = None) -> None:
        self.id = law.id
        self.place = place
        self.statement = law.statement.statement
        self._run = run
        self._law = law
        self._diagnoses = diagnoses
        listed = run.options.expected_failures.about(run.implementation.name)
        self._entries = [entry for entry in listed if entry.law == law.id]

    def __repr__(self) -> str:
        return f"<law {self.id}: {self.statement}>"

    @property
    def skip_reason(self) -> str:
        """Why the law does not apply to the implementation; empty when it does, or when its failure is expected."""
        return "" if self._entries else not_declared(self._run.implementation, self._law)

    def __call__(self) -> LawResult:
        """Try the law: return its result when it holds, else fail, skip or xfail the test."""
        __tracebackhide__ = True
        result = self._run.said_before(self._run.try_law(self._law))
        reason = self._run.with_reason(result).expected_failure
        if reason is not None:
            pytest.xfail(f"{self.id}: {reason}")
        stale = [entry for entry in self._entries if result.status in entry.stale_statuses]
        if stale:
            status = {"passed": "holds", "not_declared": "is not declared"}[result.status]
            line = stale[0].line
            pytest.fail(f"{self.id} {status} but is expected to fail; remove line {line} of the list", pytrace=False)
        if result.status == "not_declared":
            pytest.skip(result.reason)
        if is_broken(result):
            raise self._failure(result)
        return result

    def _failure(self, result: LawResult) -> LawFailure:
        """Return what the command line would show of this law, where to look, and the command that shows it."""
        report = self._report(result)
        place = raised_at(target(report), result.traceback) or self.place
        source = [] if place is None else labelled("source", [f"{from_root(place.file) or place.file}:{place.line}"])
        command = [] if report.source is None else labelled("try it", [self._command(report)])
        # Under pytest the traceback of an operation that raised is always useful.
        text = law_text(report, result, Options(traceback=True)) + as_text([*source, *command])
        return LawFailure(text, gist(report, result), place)

    def _report(self, result: LawResult) -> Report:
        """Return the report of this law alone."""
        run = self._run
        return Report(
            implementation=run.implementation.name,
            framework=run.implementation.framework.name,
            seed=run.selection.seed,
            tier=run.selection.effort,
            results=(result,),
            findings=tuple(finding for profile in run.profiles.values() for finding in profile.findings),
            source=run.implementation.source,
            diagnoses=self._diagnoses.of(result),
        )

    def _command(self, report: Report) -> str:
        seed = ["--seed", str(report.seed)] if report.seed else []
        tier = ["--tier", report.tier] if report.tier != "standard" else []
        return shlex.join(["veriformer", "check", report.implementation, "--law", self.id, *seed, *tier, "--verbose"])


def law_tests(implementation: object, options: RunOptions) -> list[LawTest]:
    """Return a test for each selected law of each declared operation, in the catalogue's order.

    Raises LoadError when the implementation cannot be loaded.
    """
    loaded = load(implementation)
    loaded.framework.use_one_thread()
    run = Run(loaded, options)
    declared = (law for law in every_law().values() if loaded.declares(law.statement.operation.name))
    chosen = [law for law in declared if options.selection.includes(law.id)]
    places = _places(loaded, {law.statement.operation.name for law in chosen})
    diagnoses = Diagnoses(run)
    return [LawTest(run, law, diagnoses, places[law.statement.operation.name]) for law in chosen]


def not_judged_in(loaded: Implementation) -> dict[str, str]:
    """Return the functions and classes of an implementation that no law is tried on, each with the reason."""
    reasons = reasons_by_name(loaded.not_judged, loaded.judged_alone)
    source = loaded.source or ""
    classes = classes_in(source)[0] if source.endswith(".py") and loaded.name == source else []
    taken = {name.partition(".")[0] for name in loaded.taken_as}
    left = (name for name in classes if name not in taken and name not in reasons)
    return reasons | dict.fromkeys(left, f"a class, which `veriformer check {source}` checks by itself")


def _places(loaded: Implementation, operations: Iterable[str]) -> dict[str, Place | None]:
    """Return where each operation is defined; what is derived from another is defined where that is."""
    source = target_named(loaded.name, loaded.source)
    return {name: definition(source, function_of(name, loaded.derived, loaded.taken_as)) for name in operations}
