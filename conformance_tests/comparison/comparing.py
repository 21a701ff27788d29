"""Comparing two implementations: every operation that both have, on the cases that both take."""

from __future__ import annotations

import contextlib
import io
import shlex
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.matching.forms import Adopted
from veriformer.conformance_tests.comparison.case_comparison import Pair
from veriformer.conformance_tests.comparison.comparison import (
    Apart,
    CaseComparison,
    Cause,
    Comparison,
    OperationComparison,
)
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.conventions.standing import told_by_calls
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.interruption import until_interrupted
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.naming import Names, defined_at, told_apart
from veriformer.conformance_tests.core.packages import blamed_on_its_package
from veriformer.conformance_tests.core.selection import Effort, Selection, several
from veriformer.conformance_tests.core.subject import CallRefused, Refused
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.batches import AnyCase, TakenOut
from veriformer.conformance_tests.drawing.fixed import FixedChoices
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import Space
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.rarities import every_rare_case
from veriformer.conformance_tests.refusals.known import KnownRefusals
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.pace import Progress
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run
from veriformer.conformance_tests.search.search import Search
from veriformer.spec.laws import LawStatement
from veriformer.spec.laws.law import Property
from veriformer.spec.operations import OPERATIONS, Operation

# A law is about one thing; here one search has to cover everything that an operation offers.
_CASES_PER_EXAMPLE = 3
_SHAPES_PER_COMPILATION = 2
_MOST_BY_NAME = 5
_CASES_TO_TELL = 12
_AGREEMENT = Property(
    key="two_implementations_agree",
    statement="Two implementations return the same, each within its own rounding",
    formula="|a − b| ≤ allowed_a + allowed_b",
    source="the interface",
    reason="what two implementations owe the interface they owe each other",
)


def compare_implementations(
    first: object,
    second: object,
    *,
    operations: str | Iterable[str] | None = None,
    dtypes: str | Iterable[str] | None = None,
    tier: Effort = "standard",
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    keeps_interrupted: bool = False,
) -> Comparison:
    """Compare an implementation with its port, two versions, or a kernel with its model.

    Each is a built-in name, a path to a Python file, an import path, or any object with operations as attributes.
    Both get the same arguments, each in its own layout and mask polarity. They agree where |a − b| is at most the sum
    of what rounding explains in each under its own conventions.
    With `keeps_interrupted` an interrupt ends it with what was compared until then, rather than with KeyboardInterrupt.
    Raises LoadError when one cannot be loaded and UnknownName when an operation or tier does not exist.
    """
    selection = Selection(several(operations), None, several(dtypes), tier, seed)
    loaded = [load(target) for target in (first, second)]
    both = [implementation.restricted_to(selection.dtypes) for implementation in loaded]
    options = RunOptions(selection, progress=progress, keeps_interrupted=keeps_interrupted)
    names = told_apart((both[0].name, both[1].name), (first, second))
    found = _Comparing(both[0], both[1], options, names).comparison()
    # Without an operation, what the functions were taken for is all that an interrupt leaves.
    for implementation in both if found.operations or not found.interrupted else ():
        SO_FAR.forget(implementation.name)
    return found


@dataclass
class _Comparing:
    """Two implementations under one selection of operations."""

    first: Implementation
    second: Implementation
    options: RunOptions
    names: Names

    @property
    def selection(self) -> Selection:
        return self.options.selection

    @property
    def both(self) -> tuple[Implementation, Implementation]:
        return self.first, self.second

    def comparison(self) -> Comparison:
        started = time.monotonic()
        for implementation in self.both:
            implementation.framework.use_one_thread()
        wanted = [name for name in OPERATIONS if name in (self.selection.operations or OPERATIONS)]
        of_first, of_second = ([name for name in wanted if each.declares(name)] for each in self.both)
        common = [name for name in of_first if name in of_second]
        compared, interrupted = until_interrupted(self._operations(common), keeps=self.options.keeps_interrupted)
        notices = self._notices()
        if interrupted:
            notices.append(f"interrupted after {len(compared)} of {counted(len(common), 'operation')}")
        return Comparison(
            first=self.names[0],
            second=self.names[1],
            frameworks=(self.first.framework.name, self.second.framework.name),
            seed=self.selection.seed,
            tier=self.selection.effort,
            operations=compared,
            only_first=tuple(name for name in of_first if name not in common),
            only_second=tuple(name for name in of_second if name not in common),
            dtypes=_apart(self.first.dtypes, self.second.dtypes),
            notices=tuple(dict.fromkeys(notices)),
            seconds=time.monotonic() - started,
            interrupted=interrupted,
            sources=(_source(self.first), _source(self.second)),
        )

    def _notices(self) -> list[str]:
        """Return what is said of both, then what is said of one alone, with its name."""
        own = [_notices(each) for each in self.both]
        common = [notice for notice in own[0] if notice in own[1]]
        alone = [
            notice if notice.startswith(f"{name}:") else f"{name}: {notice}"
            for name, its in zip(self.names, own, strict=True)
            for notice in its
            if notice not in common
        ]
        return [*common, *alone, *self._by_their_names(0), *self._by_their_names(1)]

    def _by_their_names(self, side: int) -> list[str]:
        """Return how the functions of a file are compared that are operations for which others were taken."""
        own, other = self.both[side], self.both[1 - side]
        if own.source is None or other.source is None or ":" in own.name:
            return []
        told = []
        for name in own.judged_alone[:_MOST_BY_NAME]:
            known = (*other.judged_alone, *other.taken_as, *other.operations)
            its = f"{other.name}:{name}" if ":" not in other.name and name in known else other.name
            named = [f"{own.name}:{name}", its]
            command = shlex.join(["veriformer", "compare", *(named if side == 0 else named[::-1])])
            told.append(f"{own.name}: {name} is not compared, since another function was taken: {command}")
        return told

    def _operations(self, common: list[str]) -> Iterable[OperationComparison]:
        for done, name in enumerate(common):
            self.options.show(Progress(" and ".join(self.names), name, done, len(common)))
            # What the implementations print is no part of the report.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                yield self._sparing_others(OPERATIONS[name])

    def _sparing_others(self, operation: Operation) -> OperationComparison:
        try:
            return self._operation(operation)
        except Exception as error:
            reason = blamed_on_its_package(operation.name, error)
            return OperationComparison(operation, self.names, reason=reason, unjudged=1, unjudged_because=reason)

    def _operation(self, operation: Operation) -> OperationComparison:
        nothing = OperationComparison(
            operation,
            self.names,
            functions=(_function(self.first, operation.name), _function(self.second, operation.name)),
            places=(_place(self.first, operation.name), _place(self.second, operation.name)),
        )
        reason = self._incomparable(operation.name)
        if reason:
            return replace(nothing, reason=reason)
        pair = Pair(examine(self.first, operation), examine(self.second, operation))
        reason = pair.first.lacking or pair.second.lacking
        if reason:
            return replace(nothing, reason=reason)
        pair = self._told(pair)
        for implementation in self.both:
            implementation.forgive(operation.name)
        mine, theirs = (self._refusing(profile, self._limits(pair)) for profile in (pair.first, pair.second))
        drawn = _DrawnCases(pair, self._limits(pair), self.selection.examples_of(operation.name) * _CASES_PER_EXAMPLE)
        explored = drawn.explored()
        judged = [one for one in explored if one.judged]
        unjudged = [one.unjudged for one in explored if one.unjudged]
        nothing = replace(
            nothing,
            unjudged=len(unjudged),
            unjudged_because=unjudged[0] if unjudged else "",
            conventions=pair.conventions,
            keywords=_apart(*(each.features(operation.name) for each in self.both)),
            limitations=_apart(*(_limitations(profile) for profile in (pair.first, pair.second))),
            refusals=(mine.found, theirs.found),
            refused_by_one=(
                pair.refused_by(0, mine.found, theirs.found),
                pair.refused_by(1, theirs.found, mine.found),
            ),
        )
        if not judged:
            return replace(nothing, reason=_unjudged_words(unjudged, 0) or _refused_words(*nothing.refusals))
        differing = [one for one in judged if one.cause]
        return replace(
            nothing,
            checks=self._checks(operation, [one.cause for one in differing if one.cause]),
            cases=len(judged),
            differing=len(differing),
            reason="" if differing else _unjudged_words(unjudged, len(judged)),
            differences=tuple(drawn.smallest(cause, differing) for cause in _telling(one.cause for one in differing)),
            contradicts=_any_of(one.contradicts for one in judged),
            largest_excess=max(one.excess for one in judged),
        )

    def _refusing(self, profile: Profile, limits: Limits) -> KnownRefusals:
        """Find what an operation refuses at its first exception."""
        known = KnownRefusals(profile.subject, limits, profile.fixed.refusals)
        profile.subject.refusals = known
        return known

    def _told(self, pair: Pair) -> Pair:
        """Return the pair, with conventions that no probe determined taken from calls on drawn cases."""
        if not any(finding.unknown for profile in (pair.first, pair.second) for finding in profile.findings):
            return pair
        limits = self._limits(pair)
        choice, random = cases(_space(pair), limits), Random(limits.seed)
        drawn = [draw_inputs(limits.operation, choice.sample(random)) for _ in range(_CASES_TO_TELL)]
        return Pair(told_by_calls(pair.first, drawn), told_by_calls(pair.second, drawn))

    def _checks(self, operation: Operation, causes: Iterable[Cause]) -> tuple[Report | None, Report | None]:
        """Return what the laws say of each implementation that is wrong, with the mistake that it makes.

        What raises is described by its error, and has no mistake to look for.
        """
        right = {cause.side for cause in causes if not cause.raised}
        wrong = (bool(right & {"second", "neither"}), bool(right & {"first", "neither"}))
        first, second = (
            self._check(one, operation) if is_wrong else None for one, is_wrong in zip(self.both, wrong, strict=True)
        )
        return first, second

    def _check(self, implementation: Implementation, operation: Operation) -> Report:
        """Return what the laws say of an implementation, for the sake of the mistake that they name.

        The report shows no case of these laws, so that smaller ones are looked for only where no mistake is certain.
        """
        selection = replace(self.selection, operations=(operation.name,), dtypes=None)
        for shrink in (False, True):
            run = Run(implementation, RunOptions(selection, shrink=shrink))
            report = run.diagnosed(run.report())
            if report.diagnoses and all(one.how == "reproduced" for one in report.diagnoses):
                break
        return report

    def _incomparable(self, operation: str) -> str:
        """Return why there is no case that both take; empty where there may be one."""
        if operation == "model":
            return "a black box has weights of its own"
        if not self._dtypes():
            return f"no dtype in common: {', '.join(self.first.dtypes)} and {', '.join(self.second.dtypes)}"
        mine, theirs = (each.architectures.get(operation, ()) for each in self.both)
        if (mine or theirs) and not set(mine) & set(theirs):
            return f"no architecture in common: {', '.join(mine)} and {', '.join(theirs)}"
        return ""

    def _dtypes(self) -> tuple[str, ...]:
        return tuple(dtype for dtype in self.first.dtypes if dtype in self.second.dtypes)

    def _limits(self, pair: Pair) -> Limits:
        """Return what may be drawn: what both have, without what either refuses."""
        subjects, name = pair.subjects, pair.subjects[0].operation.name
        mine, theirs = (each.architectures.get(name, ()) for each in self.both)
        return Limits(
            operation=name,
            dtypes=self._dtypes(),
            features=subjects[0].features & subjects[1].features,
            architectures=tuple(each for each in mine if each in theirs),
            left_padding=not any(each.limited(name, "left_padding") for each in self.both),
            equal_widths=pair.first.equal_widths or pair.second.equal_widths,
            equal_lengths=any(each.limited(name, "unequal_lengths") for each in self.both),
            causal_excludes_mask=any(s.conventions.get("causal_with_mask") == "rejects" for s in subjects),
            bias_excludes_mask=pair.first.refuses_bias_beside_mask or pair.second.refuses_bias_beside_mask,
            compiles_per_shape=any(each.framework.compiles_per_shape for each in self.both),
            pool=self.selection.pool * _SHAPES_PER_COMPILATION,
            reach=self.selection.reach,
            fixed=_both_fixed(pair.first.fixed.choices, pair.second.fixed.choices),
            seed=zlib.crc32(f"{self.selection.seed}:compare:{name}".encode()),
        )


@dataclass
class _DrawnCases:
    """The cases of one operation, put to both implementations by the search that serves the laws."""

    pair: Pair
    limits: Limits
    examples: int

    def explored(self) -> list[CaseComparison]:
        """Return what came of cases drawn at random."""
        seen: list[CaseComparison] = []

        def noted(compared: CaseComparison) -> bool:
            seen.append(compared)
            return True

        self._search(noted).run()
        return seen

    def smallest(self, cause: Cause, differing: list[CaseComparison]) -> CaseComparison:
        """Return the smallest case found on which they differ for this cause, which an explored case has.

        Where a process was lost over that case, it is the first: looking for a smaller one would lose others.
        """
        first = next(one for one in differing if one.cause == cause)
        if first.lost:
            return first
        outcome = self._search(lambda compared: compared.cause != cause).run()
        if outcome.case is None or isinstance(outcome.case, TakenOut):
            raise ValueError(f"no case of {self.limits.operation} has the cause {cause}")
        return self.pair.compare(outcome.case)

    def _search(self, holds: Callable[[CaseComparison], bool]) -> Search:
        def check(trial: Trial[Inputs]) -> Verdict:
            if trial.case is None or isinstance(trial.case, TakenOut):
                raise TypeError("two implementations are compared on cases only")
            compared = self.pair.compare(trial.case)
            refused = compared.refused[0] or compared.refused[1]
            if refused is not None:
                # Another case is drawn in its place.
                raise CallRefused(refused)
            return Verdict(holds(compared), "", "", excess=compared.excess)

        subject = self.pair.subjects[0]
        law = Law(LawStatement(subject.operation, _AGREEMENT), _space(self.pair), check)
        return _WithEveryRareCase(law, subject, self.limits, self.limits.seed, self.examples)


class _WithEveryRareCase(Search):
    """A search over the rare cases of all laws of an operation."""

    def _to_try(self) -> list[AnyCase]:
        return [*self._ordinary(), *every_rare_case(self.limits)]


def _source(implementation: Implementation) -> str | None:
    """Return what a command calls an implementation; None for an object of Python."""
    return None if implementation.source is None else implementation.name


def _function(implementation: Implementation, operation: str) -> str:
    """Return what the function of an operation is called, or that of the forward pass from which it is derived."""
    forward = implementation.derived.get(operation, operation)
    return next((name for name, taken in implementation.taken_as.items() if taken == forward), forward)


def _place(implementation: Implementation, operation: str) -> str:
    """Return where the function of an operation of an object stands; empty for what a command can name."""
    if implementation.source is not None:
        return ""
    function = implementation.operations[implementation.derived.get(operation, operation)]
    return defined_at(function.function if isinstance(function, Adopted) else function)


def _notices(implementation: Implementation) -> tuple[str, ...]:
    """Return what is said of an implementation, and the names of its functions that are not compared."""
    # How what is judged alone is compared is said, where a command can name it.
    has_command = implementation.source is not None and ":" not in implementation.name
    alone = implementation.judged_alone[_MOST_BY_NAME if has_command else 0 :]
    others = ", ".join((*implementation.not_judged, *alone))
    if not others:
        return implementation.notices
    name = implementation.name
    return (*implementation.notices, f"{name}: not compared: {others} (veriformer check {name} says why)")


def _unjudged_words(unjudged: list[str], agreeing: int) -> str:
    """Return why cases could not be judged, and how many others agree; empty where all could be."""
    if not unjudged:
        return ""
    others = f"; {agreeing} other{' case agrees' if agreeing == 1 else ' cases agree'}" if agreeing else ""
    number = f"{len(unjudged)} case{'' if len(unjudged) == 1 else 's'}"
    return f"{number} could not be judged ({unjudged[0]}){others}"


def _refused_words(first: tuple[Refused, ...], second: tuple[Refused, ...]) -> str:
    """Return why no case could be compared: what is refused, else that no result came."""
    words = dict.fromkeys(refusal.words for refusal in (*first, *second))
    return "; ".join(words) or "neither returned a result for any case"


def _both_fixed(first: FixedChoices, second: FixedChoices) -> FixedChoices:
    """Return what both offer of the choices of which one lacks some; where that is nothing, what the first does."""
    common = dict(second.offered)
    for name, values in first.offered.items():
        common[name] = tuple(value for value in values if value in second.offered.get(name, values)) or values
    return FixedChoices(common)


def _space(pair: Pair) -> Space:
    """Return the operation's ordinary cases, with every optional input."""
    space = own_space(pair.subjects[0].operation.name)
    if not isinstance(space, AttentionSpace):
        return space
    kinds = (*MASK_KINDS, "empty_rows") if pair.compares_empty_rows else MASK_KINDS
    return replace(space, window="sometimes", softcap="sometimes", sinks="sometimes", mask_kinds=kinds)


def _apart(first: Iterable[str], second: Iterable[str]) -> Apart:
    """Return what only the first has, and what only the second, each in the order of the alphabet."""
    mine, theirs = set(first), set(second)
    return tuple(sorted(mine - theirs)), tuple(sorted(theirs - mine))


def _limitations(profile: Profile) -> list[str]:
    """Return what the operation refuses, declared or found by trying."""
    subject = profile.subject
    name = subject.operation.name
    left = name == "language_model" and subject.implementation.limited(name, "left_padding")
    return ["value_width"] * profile.equal_widths + ["left_padding"] * left


def _any_of(flags: Iterable[tuple[bool, bool]]) -> tuple[bool, bool]:
    first, second = zip(*flags, strict=True)
    return any(first), any(second)


def _telling(causes: Iterable[Cause | None]) -> list[Cause]:
    """Return each cause once, mistakes first, without conventions together that make a difference alone too."""
    found = list(dict.fromkeys(cause for cause in causes if cause is not None))
    alone = {cause.conventions[0] for cause in found if len(cause.conventions) == 1}
    told = [cause for cause in found if len(cause.conventions) < 2 or not set(cause.conventions) <= alone]
    return sorted(told, key=lambda cause: (cause.side == "both", cause.raised, cause.conventions))
