"""Checking an implementation: every law of every operation it declares, each on its own cases."""

from __future__ import annotations

import contextlib
import io
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

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
from veriformer.conformance_tests.inference import Profile, examine
from veriformer.conformance_tests.law import Law, laws, turns
from veriformer.conformance_tests.ordering import most_revealing_first
from veriformer.conformance_tests.report import LawResult, Report
from veriformer.conformance_tests.search import Outcome, Search
from veriformer.conformance_tests.selection import Effort, Selection
from veriformer.spec.operations import OPERATIONS

_LONGEST_OUTPUT = 10_000


@dataclass(frozen=True)
class Progress:
    """Where a run stands: told before each law."""

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
) -> Report:
    """Check an implementation against the laws and return a report.

    `target` is a built-in name (`numpy`, `torch`, `jax`), a path to a Python file, an import path, or any object
    with operations as attributes. `laws` are ids or globs over them. `fail_fast` ends the run at the first
    violation; without `shrink` the first case found stands as the counterexample; with `diagnosis`, the mistake
    behind the broken laws of each operation is looked for. With `isolate` a file or import path is loaded and called
    in a process of its own, where a call may take `time_limit` seconds and, beyond what loading took, `memory_limit`
    bytes. Raises LoadError when the implementation cannot be loaded and UnknownName when an operation, law or tier does
    not exist.
    """
    selection = Selection(operations, laws, dtypes, tier, seed)
    implementation = _found(target, IsolationLimits(time_limit, memory_limit) if isolate else None)
    try:
        if dtypes is not None:
            implementation = restricted(implementation, dtypes)
        expected = expected_failures or ExpectedFailures(())
        run = Run(implementation, selection, expected, progress, fail_fast=fail_fast, shrink=shrink)
        return run.diagnosed() if diagnosis else run.report()
    finally:
        implementation.close()


def _found(target: object, limits: IsolationLimits | None) -> Implementation:
    if isinstance(target, Implementation):
        return target
    return load(target) if limits is None else load_isolated(target, limits)


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
        self.printed: dict[str, str] = {}
        self.kept_large: set[str] = set()

    def report(self) -> Report:
        """Try every selected law and return what came of it."""
        started = time.monotonic()
        chosen = [law for law in laws().values() if self.selection.includes(law.id)]
        self.implementation.framework.use_one_thread()
        tried = {result.law.id: result for result in self._results(most_revealing_first(chosen))}
        results = tuple(tried[law.id] for law in chosen if law.id in tried)
        name = self.implementation.name
        # In the order of the catalogue, whichever was tried first.
        profiles = [self.profiles[operation] for operation in OPERATIONS if operation in self.profiles]
        findings = tuple(finding for profile in profiles for finding in profile.findings)
        return Report(
            implementation=name,
            framework=self.implementation.framework.name,
            seed=self.selection.seed,
            tier=self.selection.effort,
            results=results,
            findings=findings,
            notices=(*self.implementation.notices, *self._prints(), *self._untried(len(chosen) - len(results))),
            stale=self.expected.stale(name, results),
            seconds=time.monotonic() - started,
            source=self.implementation.source,
            derived=self.implementation.derived,
        )

    def diagnosed(self) -> Report:
        """Return the report with what explains the broken laws."""
        report, started = self.report(), time.monotonic()
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
            profile = self.profiles.get(operation)
            origin = by_operation.get(self.implementation.derived.get(operation, ""), [])
            if profile is None or any(result.status in ("failed", "error") for result in origin):
                continue
            with self._captured(operation):
                found = diagnose(profile, its, self._limits(profile, self.selection.seed))
            if found is not None:
                yield found

    def try_law(self, law: Law) -> LawResult:
        """Try one law; an implementation that prints, raises or hangs on to state harms no other law."""
        reason = not_declared(self.implementation, law)
        if reason:
            return LawResult(law.statement, "not_declared", reason=reason)
        started = time.monotonic()
        with self._captured(law.statement.operation.name):
            profile = self._profile(law)
            reason = not_offered(law, profile)
            if reason:
                return LawResult(law.statement, "not_declared", reason=reason)
            result = self._searched(law, profile)
        return replace(result, seconds=time.monotonic() - started)

    def _results(self, chosen: list[Law]) -> Iterator[LawResult]:
        for done, law in enumerate(chosen):
            self.progress(Progress(self.implementation.name, law.id, done, len(chosen)))
            result = self.try_law(law)
            reason = self.expected.reason(self.implementation.name, result)
            yield replace(result, expected_failure=reason)
            if self.fail_fast and result.status in ("failed", "error") and reason is None:
                return

    def _profile(self, law: Law) -> Profile:
        operation = law.statement.operation
        if operation.name not in self.profiles:
            self.profiles[operation.name] = examine(self.implementation, operation)
            # Questions that hang are given up; they must not cost the laws their own tries.
            self.implementation.forgive(operation.name)
        return self.profiles[operation.name]

    def _searched(self, law: Law, profile: Profile) -> LawResult:
        seed = self._seed(law)
        examples = self.selection.examples_of(law.statement.operation.name)
        limits = replace(self._limits(profile, seed), turn=turns()[law.id])
        search = Search(law, profile.subject, limits, seed, examples)
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

    @contextlib.contextmanager
    def _captured(self, operation: str) -> Iterator[None]:
        """Keep what the implementation prints out of the report, and remember that it printed."""
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            yield
        written = stream.getvalue() + self.implementation.printed()
        if written and operation not in self.printed:
            self.printed[operation] = written[:_LONGEST_OUTPUT]

    def _untried(self, number: int) -> list[str]:
        if not number:
            return []
        return [f"the run ended at the first violation; {number} {'law was' if number == 1 else 'laws were'} not tried"]

    def _prints(self) -> list[str]:
        return [
            f"{operation} printed while it was called, beginning with {text.strip().splitlines()[0][:60]!r}"
            for operation, text in self.printed.items()
            if text.strip()
        ]
