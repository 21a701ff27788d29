"""Checking an implementation: every law of every operation it declares, each on its own cases."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from veriformer.adapters.errors import formatted_traceback
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.conventions.profile import Finding, Profile
from veriformer.conformance_tests.conventions.seldom_meant import seldom_meant
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult, is_broken, is_unexpected
from veriformer.conformance_tests.core.packages import blamed_on_its_package
from veriformer.conformance_tests.core.ranking import most_telling_first
from veriformer.conformance_tests.diagnosis.diagnose import diagnose
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations.black_box.cases import affordable
from veriformer.conformance_tests.operations.laws import laws, turns
from veriformer.conformance_tests.refusals.known import KnownRefusals
from veriformer.conformance_tests.refusals.reporting import described_once, unsaid, with_refusals, without_refusals
from veriformer.conformance_tests.run.applicability import declared, not_declared, not_offered
from veriformer.conformance_tests.run.conventions_by_laws import judged_under_others
from veriformer.conformance_tests.run.first_violation import first_violation
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.ordering import most_revealing_first
from veriformer.conformance_tests.run.pace import Pace, Progress
from veriformer.conformance_tests.run.printing import captured, first_line, printed_sentences
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.resuming.record import Record
from veriformer.conformance_tests.run.survival import Survival
from veriformer.conformance_tests.run.unanswered import without_unanswered
from veriformer.conformance_tests.run.unfinished import (
    diagnoses_unfinished,
    ended_early,
    interrupted_after,
    searches_unfinished,
)
from veriformer.conformance_tests.search.search import Outcome, Search
from veriformer.spec.operations import OPERATIONS, Operation

_INTERRUPTED = "the run was interrupted"
# Of so many laws of an operation the smallest case is looked for in earnest: the first of them is shown.
_MOST_TELLING = 4


class Run:
    """One implementation under the options of a run."""

    def __init__(
        self,
        implementation: Implementation,
        options: RunOptions,
        pace: Pace | None = None,
    ) -> None:
        self.implementation = implementation
        self.options = options
        self.selection = options.selection
        self.pace = pace or Pace(options.budget)
        self.profiles: dict[str, Profile] = {}
        # By operation, whether it was examined here, by a worker, or before the run was resumed.
        self.findings: dict[str, tuple[Finding, ...]] = {}
        # Operations whose calls ended a worker; they are not called in this process.
        self.deadly: set[str] = set()
        self.record = Record()
        self.trying: Trying = try_here
        self.kept_large: set[str] = set()
        # Operations whose unknown conventions the laws have determined.
        self.settled: set[str] = set()
        self._printed: dict[str, str] = {}
        self._said: set[str] = set()
        # Operations whose first violation was told.
        self._told: set[str] = set()
        self.survival = Survival(implementation)

    def report(self) -> Report:
        """Try every selected law and return the report."""
        started = time.monotonic()
        chosen = [law for law in laws().values() if self.selection.includes(law.id)]
        self.implementation.framework.use_one_thread()
        tried, interrupted = self._tried_until_interrupted(chosen)
        # Each refusal is the error of one law only.
        once = described_once([tried[law.id] for law in chosen if law.id in tried])
        results = tuple(map(self.with_reason, once))
        answered = without_unanswered(results, self.implementation)
        results = answered.results
        # In the order of the catalogue, not in that of the run.
        findings = tuple(finding for operation in OPERATIONS for finding in self.findings_of(operation))
        return Report(
            implementation=self.implementation.name,
            framework=self.implementation.framework.name,
            seed=self.selection.seed,
            tier=self.selection.effort,
            results=results,
            findings=findings,
            notices=(
                *self.implementation.notices,
                *answered.notices,
                *unsaid(results),
                *seldom_meant(findings),
                *printed_sentences(results),
                *searches_unfinished(results),
                *ended_early(len(chosen) - len(results)),
                *([_interrupted_after(results)] if interrupted else self.pace.not_tried(results)),
                *self.survival.notices(),
            ),
            stale=self.options.expected_failures.stale(self.implementation.name, results),
            seconds=time.monotonic() - started,
            source=self.implementation.source,
            derived=self.implementation.derived,
            taken_as=self.implementation.taken_as,
            not_judged={**self.implementation.not_judged, **answered.not_judged},
            judged_alone=self.implementation.judged_alone,
            interrupted=interrupted,
        )

    def _tried_until_interrupted(self, chosen: list[Law]) -> tuple[dict[str, LawResult], bool]:
        """Return the results by law, and whether an interrupt ended the run before all were tried."""
        tried: dict[str, LawResult] = {}
        try:
            for result in self._results(most_revealing_first(chosen)):
                tried[result.law.id] = result
            self._tell_stage("looking for the smallest cases", tried.values())
            tried |= judged_under_others(self, chosen, tried)
            tried |= self._with_smallest_cases([tried[law.id] for law in chosen if law.id in tried])
        except KeyboardInterrupt:
            if not self.options.keeps_interrupted:
                raise
            return {law.id: self._left(law) for law in chosen} | tried, True
        return tried, False

    def _tell_stage(self, stage: str, results: Iterable[LawResult]) -> None:
        """Report what is done when the laws have been tried, where any of them is broken."""
        judged = [result for result in results if result.status != "not_declared"]
        if any(map(is_broken, judged)):
            self.options.show(Progress(self.implementation.name, "", len(judged), len(judged), stage=stage))

    def _left(self, law: Law) -> LawResult:
        """Return the result of a law that an interrupt left."""
        reason = not_declared(self.implementation, law)
        return LawResult(law.statement, "not_declared" if reason else "not_tried", reason=reason or _INTERRUPTED)

    def diagnosed(self, report: Report) -> Report:
        """Return the report with the diagnoses of the broken laws."""
        started = time.monotonic()
        self._tell_stage("looking for the mistake", report.results)
        try:
            diagnoses = tuple(self.diagnoses(report.results))
        except KeyboardInterrupt:
            if not self.options.keeps_interrupted:
                raise
            said = "interrupted while the mistake was looked for, so that none is named"
            return replace(report, interrupted=True, notices=(*report.notices, said))
        return replace(
            report,
            diagnoses=diagnoses,
            notices=(*report.notices, *diagnoses_unfinished(diagnoses, self.pace.reason)),
            seconds=report.seconds + time.monotonic() - started,
        )

    def diagnoses(self, results: Iterable[LawResult]) -> Iterator[Diagnosis]:
        """Yield the diagnosis of each operation that breaks laws.

        A derived operation has none if the one that it was derived from breaks laws too.
        """
        by_operation: dict[str, list[LawResult]] = {}
        # A refusal is not a wrong result.
        for result in (result for result in map(without_refusals, results) if result.answered):
            by_operation.setdefault(result.law.operation.name, []).append(result)
        for operation, its in by_operation.items():
            profile = self.broken_profile(operation, its)
            origin = by_operation.get(self.implementation.derived.get(operation, ""), [])
            if profile is None or any(map(is_broken, origin)) or self.pace.is_spent():
                continue
            with captured(self.implementation):
                work = Work(is_spent=self.pace.is_spent)
                found = diagnose(profile, its, self.limits(profile), work)
            if found is not None:
                yield found

    def try_in_run(self, law: Law) -> LawResult:
        """Try one law of a whole run, with a brief search for a smaller case; for none of a derived operation.

        Which law says most is not known yet, nor whether the operation that this one is derived from breaks laws too:
        then nobody looks at its cases.
        """
        derived = law.statement.operation.name in self.implementation.derived
        return self.try_law(law, shrink=not derived, briefly=True)

    def try_law(self, law: Law, *, shrink: bool = True, briefly: bool = False) -> LawResult:
        """Try one law; an implementation that prints, raises or keeps state, and a package whose code raises, do not
        affect other laws.
        """
        try:
            return self._try_law(law, shrink, briefly)
        except Exception as error:
            reason = blamed_on_its_package(law.statement.operation.name, error)
            return LawResult(law.statement, "error", reason=reason, traceback=formatted_traceback(error))

    def _try_law(self, law: Law, shrink: bool, briefly: bool) -> LawResult:
        reason = not_declared(self.implementation, law)
        if reason:
            return LawResult(law.statement, "not_declared", reason=reason)
        if self.pace.is_spent():
            return self.pace.untried(law.statement)
        started = time.monotonic()
        with captured(self.implementation) as written:
            profile = self.profile_of(law.statement.operation)
            with self.pace.measuring(law, self.implementation.stopwatch):
                result = self.survival.reported_by(self.searched(law, profile, shrink=shrink, briefly=briefly))
        printed = self._printed[law.statement.operation.name] or first_line(written.getvalue())
        return replace(result, seconds=time.monotonic() - started, printed=printed)

    def _with_smallest_cases(self, results: list[LawResult]) -> dict[str, LawResult]:
        """Return the broken laws whose cases are looked at, with the smallest ones.

        Those are the laws which say most about each operation, and all of a derived one whose forward pass is right.
        """
        broken: dict[str, list[LawResult]] = {}
        for result in filter(is_broken, results):
            broken.setdefault(result.law.operation.name, []).append(result)
        again: list[LawResult] = []
        # Whose small cases hang would be looked at in vain again, and at the cost of its process.
        for name in (one for one in broken if one not in self.deadly and one not in self.kept_large):
            # A law that is expected to fail is not shown.
            of_operation = [result for result in results if result.law.operation.name == name]
            its = [result for result in most_telling_first(of_operation) if is_unexpected(result)]
            origin = self.implementation.derived.get(name)
            again += its[:_MOST_TELLING] if origin is None else its if origin not in broken else []
        found = (self.with_reason(self.try_law(laws()[result.law.id])) for result in again if self.options.shrink)
        # What the budget leaves no time for keeps the case that was found first.
        return {result.law.id: result for result in found if result.status == "failed"}

    def said_before(self, result: LawResult) -> LawResult:
        """Return a result without the refusals that an earlier result reported, for a caller without a report."""
        if result.refused.keys() <= self._said:
            return without_refusals(result)
        self._said |= result.refused.keys()
        return result

    def is_violation(self, result: LawResult) -> bool:
        """Return whether a law fails, or cannot be judged, unexpectedly."""
        return is_broken(result) and self.options.expected_failures.reason(self.implementation.name, result) is None

    def tell_first_violation(self, result: LawResult, stands: Progress) -> None:
        """Report what the first violated law of an operation shows, where the options ask for it."""
        operation = result.law.operation.name
        if not self.options.tells_at_once or operation in self._told or not self.is_violation(result):
            return
        if found := first_violation(self, result):
            self._told.add(operation)
            self.options.show(replace(stands, found=found))

    def _results(self, chosen: list[Law]) -> Iterator[LawResult]:
        """Yield the results of the resumed run, then those of the other laws as they are tried."""
        known = [self.record.results[law.id] for law in chosen if law.id in self.record.results]
        left = [law for law in chosen if law.id not in self.record.results]
        self.findings.update(self.record.findings)
        total = len(declared(self.implementation, chosen))
        for result in chain(known, self._tried(left, total)):
            yield self.with_reason(result)
            if self.options.fail_fast and self.is_violation(result):
                explained = judged_under_others(self, chosen, {result.law.id: result})
                yield from explained.values()
                if not explained or any(map(self.is_violation, explained.values())):
                    return

    def with_reason(self, result: LawResult) -> LawResult:
        """Return a result with the reason why its failure is expected, if it is."""
        return replace(result, expected_failure=self.options.expected_failures.reason(self.implementation.name, result))

    def findings_of(self, operation: str) -> tuple[Finding, ...]:
        """Return the conventions of an operation: as its laws determined them, else as it was examined."""
        return self.profiles[operation].findings if operation in self.settled else self.findings.get(operation, ())

    def _tried(self, laws: list[Law], total: int) -> Iterator[LawResult]:
        for result in self.trying(self, laws, total):
            self.record.add(result, self.findings.get(result.law.operation.name, ()))
            yield result

    def profile_of(self, operation: Operation) -> Profile:
        """Return the profile of an operation, which is examined on first use."""
        if operation.name not in self.profiles:
            with captured(self.implementation) as written:
                self.profiles[operation.name] = self.refusing(examine(self.implementation, operation))
                # Probes that hang are given up; the laws must still have all their attempts.
                self.implementation.forgive(operation.name)
            self._printed[operation.name] = first_line(written.getvalue())
            self.findings[operation.name] = self.profiles[operation.name].findings
        return self.profiles[operation.name]

    def refusing(self, profile: Profile) -> Profile:
        """Return the profile, set up to explore at the first exception what the operation refuses."""
        limits = self.limits(profile)
        profile.subject.refusals = KnownRefusals(profile.subject, limits, profile.fixed.refusals)
        return profile

    def broken_profile(self, operation: str, results: Iterable[LawResult]) -> Profile | None:
        """Return the profile of an operation that breaks laws; one that a worker examined is examined again here."""
        if operation in self.findings and operation not in self.deadly and any(map(is_broken, results)):
            return self.profile_of(OPERATIONS[operation])
        return self.profiles.get(operation)

    def search(self, law: Law, profile: Profile) -> Search:
        """Return the search for a case on which a law fails, under the conventions of a profile."""
        seed = self._seed(law)
        examples = self.selection.examples_of(law.statement.operation.name, law.statement.claim.key)
        if law.statement.operation.is_black_box:
            examples = affordable(law.space, self.implementation.black_box, examples)
        limits = replace(self.limits(profile, seed), turn=turns()[law.id])
        search = Search(law, profile.subject, limits, seed, examples, self.selection.batches)
        search.is_spent = self.pace.is_spent
        search.most_tried = self.options.most_tried
        return search

    def searched(self, law: Law, profile: Profile, *, shrink: bool = True, briefly: bool = False) -> LawResult:
        """Return the result of one law under the conventions of a profile; a smaller case is looked for `briefly`."""
        reason = not_offered(law, profile)
        if reason:
            return LawResult(law.statement, "not_declared", reason=reason)
        search = self.search(law, profile)
        search.briefly = briefly
        # Small cases that hang would hang again for every law.
        shrink = shrink and self.options.shrink and profile.subject.operation.name not in self.kept_large
        outcome = search.judge_once() if isinstance(law.space, NoSpace) else search.run(shrink=shrink)
        if search.gave_up:
            self.kept_large.add(profile.subject.operation.name)
        result = replace(self._result(law, search, outcome), notices=profile.fixed.notices)
        return with_refusals(law, result, search) if search.refused else result

    def _result(self, law: Law, search: Search, outcome: Outcome) -> LawResult:
        tried = max(search.cases_tried, 1)
        if outcome.kind == "holds":
            return LawResult(law.statement, "passed", tried, largest_excess=search.largest_excess)
        if outcome.kind in ("not_offered", "refused"):
            return LawResult(law.statement, "not_declared", reason=outcome.error)
        if outcome.kind == "not_tried":
            return self.pace.untried(law.statement, search.cases_tried)
        return self._broken(law, search, outcome, tried)

    def _broken(self, law: Law, search: Search, outcome: Outcome, tried: int) -> LawResult:
        counterexample = None if outcome.fate == "not_tried" else search.counterexample(outcome)
        if counterexample is not None and outcome.kind == "fails":
            excess = counterexample.verdict.excess
            return LawResult(
                law.statement,
                "failed",
                tried,
                largest_excess=excess,
                counterexample=counterexample,
                cut_short=search.cut_short,
            )
        return LawResult(
            law.statement,
            "error",
            tried,
            counterexample=counterexample,
            reason=outcome.error,
            traceback=outcome.traceback,
            answered=outcome.fate == "answered",
            cut_short=search.cut_short,
        )

    def limits(self, profile: Profile, seed: int | None = None) -> Limits:
        """Return the limits of the cases of an operation; without `seed` under that of the run."""
        subject = profile.subject
        return Limits(
            operation=subject.operation.name,
            dtypes=self.implementation.dtypes,
            features=subject.features,
            architectures=self.implementation.architectures.get(subject.operation.name, ()),
            black_box=self.implementation.black_box,
            left_padding=not self.implementation.limited(subject.operation.name, "left_padding"),
            equal_widths=profile.equal_widths,
            equal_lengths=self.implementation.limited(subject.operation.name, "unequal_lengths"),
            causal_excludes_mask=subject.conventions.get("causal_with_mask") == "rejects",
            compiles_per_shape=self.implementation.framework.compiles_per_shape,
            bias_excludes_mask=profile.refuses_bias_beside_mask,
            pool=self.selection.pool,
            reach=self.selection.reach,
            seed=self.selection.seed if seed is None else seed,
            fixed=profile.fixed.choices,
            one_by_one=self.implementation.is_one_by_one(subject.operation.name),
        )

    def _seed(self, law: Law) -> int:
        # The law's id is part of it, so that a law sees the same cases whichever others are selected.
        return zlib.crc32(f"{self.selection.seed}:{law.id}".encode())


def _interrupted_after(results: Iterable[LawResult]) -> str:
    statuses = Counter(result.status for result in results if result.status != "not_declared")
    return interrupted_after(statuses.total() - statuses["not_tried"], statuses.total())


# How a run tries laws, here or in workers; the number counts the declared laws of the run, with those already known.
Trying = Callable[[Run, list[Law], int], Iterator[LawResult]]


def try_here(run: Run, laws: list[Law], total: int) -> Iterator[LawResult]:
    """Yield the result of each law, tried in this process."""
    done = total - len(declared(run.implementation, laws))
    for number, law in enumerate(laws):
        if not_declared(run.implementation, law):
            yield run.try_in_run(law)
            continue
        stands = Progress(run.implementation.name, law.id, done, total)
        run.options.show(stands)
        run.pace.tell(run.implementation, laws[number:], run.options, stands)
        result = run.try_in_run(law)
        run.tell_first_violation(result, stands)
        yield result
        done += 1
