"""Checking an implementation: every law of every operation it declares, each on its own cases."""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.limits import Limits as IsolationLimits
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.adapters.loading import load
from veriformer.conformance_tests.applicability import not_declared, not_offered
from veriformer.conformance_tests.cases.limits import Limits
from veriformer.conformance_tests.cases.spaces import NoSpace
from veriformer.conformance_tests.diagnosis.diagnose import diagnose
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.expected_failures import ExpectedFailures
from veriformer.conformance_tests.inference import Finding, Profile, examine
from veriformer.conformance_tests.law import Law, laws, turns
from veriformer.conformance_tests.ordering import most_revealing_first
from veriformer.conformance_tests.report import LawResult, Report
from veriformer.conformance_tests.resuming.record import Record
from veriformer.conformance_tests.search import Outcome, Search
from veriformer.conformance_tests.selection import Effort, Selection
from veriformer.spec.operations import OPERATIONS, Operation

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from veriformer.conformance_tests.parallel.crew import Crew
    from veriformer.conformance_tests.resuming.record import RecordFile

_LONGEST_OUTPUT = 10_000
_LONGEST_LINE = 60


@dataclass(frozen=True)
class Progress:
    """Where a run stands: told before each law, and where others try them, as their results come."""

    implementation: str
    law: str
    done: int
    total: int


def check(
    target: object,
    *,
    operations: tuple[str, ...] | None = None,
    laws: tuple[str, ...] | None = None,
    dtypes: tuple[str, ...] | None = None,
    tier: Effort = "standard",
    seed: int = 0,
    expected_failures: ExpectedFailures | None = None,
    fail_fast: bool = False,
    shrink: bool = True,
    diagnosis: bool = True,
    progress: Callable[[Progress], None] | None = None,
    isolate: bool = False,
    time_limit: float = IsolationLimits.seconds,
    memory_limit: int = IsolationLimits.memory,
    workers: int = 0,
    executor: Executor | Crew | None = None,
    resume: Path | str | RecordFile | None = None,
) -> Report:
    """Check an implementation against the laws and return a report.

    `target` is a built-in name (`numpy`, `torch`, `jax`), a path to a Python file, an import path, or any object
    with operations as attributes. `laws` are ids or globs over them. `fail_fast` ends the run at the first
    violation; without `shrink` the first case found stands as the counterexample; with `diagnosis`, the mistake
    behind the broken laws of each operation is looked for. With `isolate` a file or import path is loaded and called
    in a process of its own, where a call may take `time_limit` seconds and, beyond what loading took, `memory_limit`
    bytes. Laws are tried by `workers` processes of this machine or by `executor`, if either is given; then `target` is
    a string. What passed is taken from the file `resume`, which is written as the run goes on. Raises LoadError when
    the implementation cannot be loaded, UnknownName when an operation, law or tier does not exist, UnusableRecord when
    `resume` is of another run, and WorkersError when laws cannot be handed out.
    """
    selection = Selection(operations, laws, dtypes, tier, seed)
    implementation = _found(target, IsolationLimits(time_limit, memory_limit) if isolate else None)
    try:
        if dtypes is not None:
            implementation = restricted(implementation, dtypes)
        expected = expected_failures or ExpectedFailures(())
        run = Run(implementation, selection, expected, progress, fail_fast=fail_fast, shrink=shrink)
        with helped(run, target, workers, executor, resume):
            report = run.report()
        return run.diagnosed(report) if diagnosis else report
    finally:
        implementation.close()


def _found(target: object, limits: IsolationLimits | None) -> Implementation:
    if isinstance(target, Implementation):
        return target
    return load(target) if limits is None else load_isolated(target, limits)


@contextmanager
def helped(
    run: Run, target: object, workers: int, executor: Executor | Crew | None, resume: Path | str | RecordFile | None
) -> Iterator[None]:
    """Let a run take what a file has of it, and let others try its laws, where that is wanted."""
    if resume is not None:
        from veriformer.conformance_tests.resuming.record import record_of

        run.record = record_of(resume, run.implementation, run.selection)
    if not workers and executor is None:
        yield
        return
    from veriformer.conformance_tests.parallel.sharing import Sharing, crew_of

    with crew_of(workers, executor) as crew:
        run.trying = Sharing(crew, target)
        yield


def restricted(implementation: Implementation, dtypes: tuple[str, ...]) -> Implementation:
    """Return the implementation with other dtypes to test; LoadError when its framework lacks one."""
    for name in dtypes:
        if name not in implementation.framework.dtypes:
            raise LoadError(implementation.framework.missing_dtype(name))
    return replace(implementation, dtypes=dtypes)


class Run:
    """One implementation under one selection of laws."""

    def __init__(
        self,
        implementation: Implementation,
        selection: Selection,
        expected: ExpectedFailures,
        progress: Callable[[Progress], None] | None = None,
        *,
        fail_fast: bool = False,
        shrink: bool = True,
    ) -> None:
        self.implementation = implementation
        self.selection = selection
        self.expected = expected
        self.progress = progress or (lambda _: None)
        self.fail_fast = fail_fast
        self.shrink = shrink
        self.profiles: dict[str, Profile] = {}
        # Of operations that were examined here, by a worker, or before the run was resumed.
        self.findings: dict[str, tuple[Finding, ...]] = {}
        # Operations whose calls ended a worker; they are not called in this process.
        self.deadly: set[str] = set()
        self.record = Record()
        self.trying: Trying = try_here
        self.kept_large: set[str] = set()
        self._printed: dict[str, str] = {}

    def report(self) -> Report:
        """Try every selected law and return what came of it."""
        started = time.monotonic()
        chosen = [law for law in laws().values() if self.selection.includes(law.id)]
        self.implementation.framework.use_one_thread()
        tried = {result.law.id: result for result in self._results(most_revealing_first(chosen))}
        results = tuple(tried[law.id] for law in chosen if law.id in tried)
        name = self.implementation.name
        # In the order of the catalogue, whichever was tried first.
        findings = tuple(finding for operation in OPERATIONS for finding in self.findings.get(operation, ()))
        return Report(
            implementation=name,
            framework=self.implementation.framework.name,
            seed=self.selection.seed,
            tier=self.selection.effort,
            results=results,
            findings=findings,
            notices=(*self.implementation.notices, *_prints(results), *self._untried(len(chosen) - len(results))),
            stale=self.expected.stale(name, results),
            seconds=time.monotonic() - started,
            source=self.implementation.source,
            derived=self.implementation.derived,
        )

    def diagnosed(self, report: Report) -> Report:
        """Return the report with what explains the broken laws."""
        started = time.monotonic()
        diagnoses = tuple(self.diagnoses(report.results))
        return replace(report, diagnoses=diagnoses, seconds=report.seconds + time.monotonic() - started)

    def diagnoses(self, results: Iterable[LawResult]) -> Iterator[Diagnosis]:
        """Yield what explains the broken laws of each operation.

        What was derived from an operation that breaks laws itself is left to that.
        """
        by_operation: dict[str, list[LawResult]] = {}
        for result in (result for result in results if result.answered):
            by_operation.setdefault(result.law.operation.name, []).append(result)
        for operation, its in by_operation.items():
            profile = self._broken_profile(operation, its)
            origin = by_operation.get(self.implementation.derived.get(operation, ""), [])
            if profile is None or any(result.status in ("failed", "error") for result in origin):
                continue
            with captured(self.implementation):
                found = diagnose(profile, its, self._limits(profile, self.selection.seed))
            if found is not None:
                yield found

    def try_law(self, law: Law) -> LawResult:
        """Try one law; an implementation that prints, raises or hangs on to state harms no other law."""
        reason = not_declared(self.implementation, law)
        if reason:
            return LawResult(law.statement, "not_declared", reason=reason)
        started = time.monotonic()
        with captured(self.implementation) as written:
            profile = self._profile(law.statement.operation)
            result = self._searched(law, profile)
        printed = self._printed[law.statement.operation.name] or _first_line(written.getvalue())
        return replace(result, seconds=time.monotonic() - started, printed=printed)

    def is_violation(self, result: LawResult) -> bool:
        """Return whether a law fails, or cannot be judged, and nobody expects that."""
        return is_broken(result) and self.expected.reason(self.implementation.name, result) is None

    def _results(self, chosen: list[Law]) -> Iterator[LawResult]:
        """Yield the results that are known from before, then those of the other laws as they are tried."""
        known = [self.record.results[law.id] for law in chosen if law.id in self.record.results]
        left = [law for law in chosen if law.id not in self.record.results]
        self.findings.update(self.record.findings)
        for result in chain(known, self._tried(left, len(chosen))):
            reason = self.expected.reason(self.implementation.name, result)
            yield replace(result, expected_failure=reason)
            if self.fail_fast and self.is_violation(result):
                return

    def _tried(self, laws: list[Law], total: int) -> Iterator[LawResult]:
        for result in self.trying(self, laws, total):
            self.record.add(result, self.findings.get(result.law.operation.name, ()))
            yield result

    def _profile(self, operation: Operation) -> Profile:
        if operation.name not in self.profiles:
            with captured(self.implementation) as written:
                self.profiles[operation.name] = examine(self.implementation, operation)
                # Questions that hang are given up; they must not cost the laws their own tries.
                self.implementation.forgive(operation.name)
            self._printed[operation.name] = _first_line(written.getvalue())
            self.findings[operation.name] = self.profiles[operation.name].findings
        return self.profiles[operation.name]

    def _broken_profile(self, operation: str, results: Iterable[LawResult]) -> Profile | None:
        """Return the profile of an operation that breaks laws; one that others examined is examined here too."""
        if operation in self.findings and operation not in self.deadly and any(map(is_broken, results)):
            return self._profile(OPERATIONS[operation])
        return self.profiles.get(operation)

    def _searched(self, law: Law, profile: Profile) -> LawResult:
        reason = not_offered(law, profile)
        if reason:
            return LawResult(law.statement, "not_declared", reason=reason)
        seed = self._seed(law)
        examples = self.selection.examples_of(law.statement.operation.name)
        limits = replace(self._limits(profile, seed), turn=turns()[law.id])
        search = Search(law, profile.subject, limits, seed, examples, self.selection.batches)
        # Where small cases have hung, they would hang again for every law.
        shrink = self.shrink and profile.subject.operation.name not in self.kept_large
        outcome = search.judge(None) if isinstance(law.space, NoSpace) else search.run(shrink=shrink)
        if search.gave_up:
            self.kept_large.add(profile.subject.operation.name)
        tried = max(search.cases_tried, 1)
        if outcome.kind == "holds":
            return LawResult(law.statement, "passed", tried, largest_excess=search.largest_excess)
        if outcome.kind == "not_offered":
            return LawResult(law.statement, "not_declared", reason=outcome.error)
        return self._broken(law, search, outcome, tried)

    def _broken(self, law: Law, search: Search, outcome: Outcome, tried: int) -> LawResult:
        counterexample = None if outcome.fate == "not_tried" else search.counterexample(outcome)
        if counterexample is not None and outcome.kind == "fails":
            excess = counterexample.verdict.excess
            return LawResult(law.statement, "failed", tried, largest_excess=excess, counterexample=counterexample)
        return LawResult(
            law.statement,
            "error",
            tried,
            counterexample=counterexample,
            reason=outcome.error,
            traceback=outcome.traceback,
            answered=outcome.fate == "answered",
        )

    def _limits(self, profile: Profile, seed: int) -> Limits:
        subject = profile.subject
        return Limits(
            operation=subject.operation.name,
            dtypes=self.implementation.dtypes,
            features=subject.features,
            architectures=self.implementation.architectures.get(subject.operation.name, ()),
            black_box=self.implementation.black_box,
            left_padding=not self.implementation.limited(subject.operation.name, "left_padding"),
            equal_widths=profile.equal_widths,
            causal_excludes_mask=subject.conventions.get("causal_with_mask") == "rejects",
            compiles_per_shape=self.implementation.framework.compiles_per_shape,
            bias_excludes_mask=profile.refuses_bias_beside_mask,
            pool=self.selection.pool,
            seed=seed,
        )

    def _seed(self, law: Law) -> int:
        # From the law's id as well, so that a law sees the same cases whichever others are selected.
        return zlib.crc32(f"{self.selection.seed}:{law.id}".encode())

    def _untried(self, number: int) -> list[str]:
        if not number:
            return []
        return [f"the run ended at the first violation; {number} {'law was' if number == 1 else 'laws were'} not tried"]


# How a run tries laws: here, or elsewhere; the number is that of all laws of the run, those that are known included.
Trying = Callable[[Run, list[Law], int], Iterator[LawResult]]


def try_here(run: Run, laws: list[Law], total: int) -> Iterator[LawResult]:
    """Yield what comes of each law, tried in this process."""
    for done, law in enumerate(laws, total - len(laws)):
        run.progress(Progress(run.implementation.name, law.id, done, total))
        yield run.try_law(law)


def is_broken(result: LawResult) -> bool:
    """Return whether a law fails or cannot be judged."""
    return result.status in ("failed", "error")


@contextmanager
def captured(implementation: Implementation) -> Iterator[io.StringIO]:
    """Keep what the implementation prints, here or in its own process, out of the report, and give it."""
    stream = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        yield stream
    stream.write(implementation.printed())


def _first_line(written: str) -> str:
    text = written[:_LONGEST_OUTPUT].strip()
    return text.splitlines()[0][:_LONGEST_LINE] if text else ""


def _prints(results: Iterable[LawResult]) -> list[str]:
    """Return a sentence for each operation that printed, with what it printed first in the order of the laws."""
    by_law = {result.law.id: result for result in results}
    first: dict[str, str] = {}
    for law in most_revealing_first(laws()[identifier] for identifier in by_law):
        if printed := by_law[law.id].printed:
            first.setdefault(law.statement.operation.name, printed)
    return [f"{name} printed while it was called, beginning with {printed!r}" for name, printed in first.items()]
