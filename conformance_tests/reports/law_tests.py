"""Each law of an implementation as a test that passes, fails or is skipped under pytest."""

from __future__ import annotations

import shlex
from collections import Counter

import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult, is_broken
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.operations.laws import laws as every_law
from veriformer.conformance_tests.reports.console import law_text
from veriformer.conformance_tests.reports.layout import as_text, labelled
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.run.applicability import not_declared
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run

_MOST_ATTEMPTS = 3


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
    """A law, ready to be tried on an implementation: call it."""

    def __init__(self, run: Run, law: Law, diagnoses: Diagnoses) -> None:
        self.id = law.id
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
            pytest.fail(self._failure(result), pytrace=False)
        return result

    def _failure(self, result: LawResult) -> str:
        """Return what the command line would show of this law, and the command that shows it."""
        run = self._run
        report = Report(
            implementation=run.implementation.name,
            framework=run.implementation.framework.name,
            seed=run.selection.seed,
            tier=run.selection.effort,
            results=(result,),
            findings=tuple(finding for profile in run.profiles.values() for finding in profile.findings),
            source=run.implementation.source,
            diagnoses=self._diagnoses.of(result),
        )
        # Under pytest the traceback of an operation that raised is always useful.
        text = law_text(report, result, Options(traceback=True))
        return text if report.source is None else text + as_text(labelled("try it", [self._command(report)]))

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
    diagnoses = Diagnoses(run)
    return [LawTest(run, law, diagnoses) for law in declared if options.selection.includes(law.id)]
