"""Trying one law on drawn cases and, where it fails, finding the smallest case on which it does.

Cases are drawn at random until the law fails on one. A call carries many of them, as samples of one batch, and the
sample that fails is taken out. Then other cases are tried in the order in which they should be shown, and the first on
which the law fails in the same way is kept: small cases, which a person takes in at a glance, by how much there is to
read; where none of them fails, cases of all sizes, and what fails with shorter axes; last, rounder values at the sizes
found.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, product, takewhile
from operator import itemgetter
from random import Random
from typing import Any, Literal

import numpy as np
from veriformer.adapters.errors import (
    AdapterError,
    DifferentiationRefused,
    OperationLost,
    OperationNotTried,
    OperationRaised,
    StateCorrupted,
    formatted_traceback,
)
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.subject import CallRecord, CallRefused, Refused, Subject, WrongShape
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, words
from veriformer.conformance_tests.core.work import RUNAWAY_SECONDS, products_in
from veriformer.conformance_tests.drawing.batches import AnyCase, TakenOut, batched, cases_in, reseeded
from veriformer.conformance_tests.drawing.case import BatchableCase, Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.rarity import RareCase
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.attention.case import AttentionCase, AttentionSpace
from veriformer.conformance_tests.operations.attention.sizes import AXES, SEPARATE_WIDTHS, plainer, shorter
from veriformer.conformance_tests.operations.cases import cases, further_cases, resolved
from veriformer.conformance_tests.operations.inputs import draw_inputs, has_samples
from veriformer.conformance_tests.operations.rarities import rare_cases

# A small counterexample is worth a part of a second, because a wrong function breaks dozens of laws. What is counted
# is not seconds but calls, and the products that they take, so that a busy machine finds the case that an idle one
# finds. Where a framework compiles for each shape, a call takes as long as many others.
MOST_TRIED = 1_000
MOST_TRIED_COMPILED = 120
# The same where the case of another law may be the one that is shown.
BRIEFLY_TRIED = 60
BRIEFLY_TRIED_COMPILED = 60
_MOST_PRODUCTS = 2_000_000_000
# What is tried among small cases, and where none fails among cases of all sizes; the rest is to shorten what was found.
_SMALL, _OF_ALL_SIZES = 0.25, 0.25
# Of so many drawn cases, so many are tried of each length. More of one length would be spent on its many values and
# settings, when a longer case may fail at once; fewer would pass over the one setting in which it fails.
_SWEPT_DRAWS = 1200
# The same where the search is brief: to draw more cases takes longer than to try those few that are tried.
_BRIEFLY_DRAWN = 300
_TRIED_ALIKE = 8
# Where there are few different cases, most draws repeat one: after so many there are hardly others.
_DRAWS_PER_CASE = 3
# So many times as many cases are drawn to replace those that are refused, some of which are refused as well.
_DRAWS_FOR_REFUSED = 8
_REFUSED_IN_VAIN = 8
# Of the first seeds at least one has values that fail, where values at all decide.
_PLAIN_SEEDS = 8

Kind = Literal["holds", "fails", "errors", "not_offered", "refused", "not_tried"]
# What became of the last call: its process ended, the call was not made, or it changed what its process shares.
Fate = Literal["answered", "lost", "not_tried", "corrupted"]
_FATES: tuple[tuple[type[AdapterError], Fate], ...] = (
    (OperationNotTried, "not_tried"),
    (OperationLost, "lost"),
    (StateCorrupted, "corrupted"),
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one case, or of a whole search: a verdict, or in `error` why there is none.

    `fate` is that of the last call: where it did not come back, judging the case again would cost a process or many
    seconds.
    """

    kind: Kind
    case: AnyCase | None = None
    verdict: Verdict | None = None
    error: str = ""
    traceback: str = ""
    fate: Fate = "answered"
    refusal: Refused | None = None

    @property
    def comes_back(self) -> bool:
        """Whether the calls of the case can be made again."""
        return self.fate in ("answered", "corrupted")


@dataclass
class Search:
    """One law tried on one operation.

    Cases that the operation is known to refuse are counted in `refused`, and other cases replace them.
    """

    law: Law
    subject: Subject
    limits: Limits
    seed: int
    examples: int
    # The number of calls that carry many cases each; 0 where every case has a call of its own.
    batches: int = 0
    cases_tried: int = 0
    largest_excess: float = 0.0
    refused: Counter[Refused] = field(default_factory=Counter)
    # Whether the search for a smaller case ended early: where a call did not come back, and (`cut_short`) by the clock.
    gave_up: bool = False
    cut_short: bool = False
    # The calls that may be made in order to find a smaller case; None for the usual number, which is less if `briefly`.
    most_tried: int | None = None
    briefly: bool = False
    # Whether the user's budget, if there is one, is spent.
    is_spent: Callable[[], bool] = lambda: False
    _known: dict[AnyCase, Outcome] = field(default_factory=dict)
    _wanted: Kind | None = None
    _tried: int = 0
    # The number of tries at which the present part of the search for a smaller case ends.
    _until: float = math.inf
    _products: int = 0
    _deadline: float = float("inf")

    def run(self, *, shrink: bool = True) -> Outcome:
        """Return the outcome: `holds`, or the smallest case that fails or cannot be judged.

        Without `shrink`, and where the call did not come back, it is the first such case.
        """
        found = self._explored()
        if found.kind == "holds" and self.law.afterwards is not None:
            afterwards = self.judge(None)
            return found if afterwards.kind == "holds" else afterwards
        if found.kind not in ("fails", "errors") or not found.comes_back:
            return found
        found = self._taken_out(found)
        return self._smallest(found) if shrink else found

    def _smallest(self, found: Outcome) -> Outcome:
        """Return the outcome of the smallest case that fails as the one found does."""
        small = self._swept(replace(self.limits, small=True), _SMALL)
        if small is None and isinstance(found.case, RareCase):
            # Ordinary cases of all sizes have been right; what is rare is small where it can be.
            return self._narrowed(found)
        if small is None:
            large = (found, self._swept(self.limits, _OF_ALL_SIZES))
            small = min((self._shortened(outcome) for outcome in large if outcome), key=_reading)
        return self._plainest(small)

    def _first_wanted(self, candidates: Iterable[AnyCase]) -> Outcome | None:
        """Return the outcome of the first case that fails as the one found does; None where none does."""
        return next((self._known[case] for case in candidates if self._is_wanted(case)), None)

    def _explored(self) -> Outcome:
        """Return the first outcome other than `holds`, small cases before large ones.

        It is `not_tried` where the budget is spent before all cases were judged. Small first also exposes
        implementations that cache tables sized by an earlier call.
        """
        to_try = self._to_try()
        for case in chain(to_try, self._in_place_of_refused(to_try)):
            if self.is_spent():
                return Outcome("not_tried")
            if self._is_wanted(case):
                return self._known[case]
        if self.refused and not self.cases_tried:
            return Outcome("refused", error=min(refusal.sentence for refusal in self.refused))
        return Outcome("holds")

    def _in_place_of_refused(self, tried: list[AnyCase]) -> Iterator[AnyCase]:
        """Yield a case for each that was refused, each as a call of its own."""
        refused = sum(self._known[case].kind == "refused" for case in tried)
        if not refused:
            return
        # Where nothing was answered at all, so many more refusals settle it.
        in_vain = max(_REFUSED_IN_VAIN, len(tried)) if refused == len(tried) else math.inf
        for case in self._drawn(self.limits, _DRAWS_FOR_REFUSED * len(tried)):
            if case not in self._known:
                yield case
                answered = self._known[case].kind != "refused"
                refused -= answered
                in_vain = math.inf if answered else in_vain - 1
            if not refused or not in_vain:
                return

    def _to_try(self) -> list[AnyCase]:
        further = further_cases(self.law.space, self.limits)
        return [*self._ordinary(), *further, *rare_cases(self.law.statement.claim.key, self.limits)]

    def _ordinary(self) -> list[AnyCase]:
        drawn = self._drawn(self.limits, self.examples)
        # Where there is time for one case only, it is not repeated with other values.
        one_a_call = not self.law.batched or not has_samples(self.subject.operation.name)
        if one_a_call or not self.batches or self.examples == 1:
            return sorted(drawn, key=_length)
        calls = self.batches if isinstance(drawn[0], BatchableCase) and drawn[0].is_costly else len(drawn)
        to_try = [batched(case, drawn, few=self.limits.one_by_one) for case in sorted(drawn[:calls], key=_length)]
        # The same sizes with other values expose implementations that cache results by shape or by address; not the
        # smallest sizes, of which some have one result whatever the values.
        again = to_try[len(to_try) // 2]
        return [*to_try, reseeded(again, again.seed + 1)]

    def _taken_out(self, outcome: Outcome) -> Outcome:
        """Return the outcome of as few samples of a batch as fail: the one that is wrong, else half by half."""
        whole, least = outcome.case, getattr(resolved(self.law.space, self.limits.operation), "least_batch", 1)
        if not isinstance(whole, BatchableCase) or cases_in(whole) == 1:
            return outcome
        samples = tuple(range(cases_in(whole)))
        first = _first_wrong(outcome, len(samples))
        if first is not None:
            others = [sample for sample in samples if sample != first]
            alone = self._first_wanted([TakenOut(whole, tuple(sorted([first, *others[: least - 1]])))])
            if alone is not None:
                return alone
        while len(samples) > least:
            middle = max((len(samples) + 1) // 2, least)
            halves = (TakenOut(whole, samples[:middle]), TakenOut(whole, samples[-middle:]))
            wanted = next(filter(self._is_wanted, halves), None)
            if wanted is None or wanted.samples == samples:
                break
            outcome, samples = self._known[wanted], wanted.samples
        return outcome

    def _drawn(self, limits: Limits, count: int) -> list[Case]:
        """Return different cases, at most `count`."""
        random, choice = Random(self.seed), cases(self.law.space, limits)
        drawn: dict[Case, None] = {}
        for _ in range(_DRAWS_PER_CASE * count):
            drawn[choice.sample(random)] = None
            if len(drawn) == count:
                break
        return list(drawn)

    def _swept(self, limits: Limits, part: float) -> Outcome | None:
        """Return the first outcome that is wanted, in the order of how much there is to read; None where none is.

        A part of all tries is made.
        """
        self._until = self._tried + part * self._most
        drawn = self._drawn(limits, _BRIEFLY_DRAWN if self.briefly else _SWEPT_DRAWS)
        found = self._first_wanted(self._few_of_each_length(drawn))
        self._until = math.inf
        return found

    def _few_of_each_length(self, drawn: list[Case]) -> Iterator[Case]:
        """Yield some cases of each length, the shortest first, until the search has ended."""
        of_size: dict[int, list[Case]] = {}
        for case in drawn:
            of_size.setdefault(case.size, []).append(case)
        # To write a case down takes as long as to draw it, and few are tried: no more are written down than are needed.
        for size in sorted(of_size):
            tried: Counter[tuple[int, int]] = Counter()
            for length, case in sorted(((_length(case), case) for case in of_size[size]), key=itemgetter(0)):
                if self._ends_shrinking():
                    return
                tried[length] += 1
                if tried[length] <= _TRIED_ALIKE:
                    yield case

    def _shortened(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a case of attention with fewer settings and shorter axes, as far as it still fails."""
        if isinstance(outcome.case, TakenOut):
            outcome = self._first_wanted(outcome.case.as_cases()) or outcome
        space = resolved(self.law.space, self.limits.operation)
        if not isinstance(space, AttentionSpace):
            return outcome
        # The settings first: a mask, say, may show the mistake only with several heads.
        while isinstance(outcome.case, AttentionCase):
            plain = self._first_wanted(plainer(outcome.case, space))
            if plain is None:
                break
            outcome = plain
        for axes in AXES if self.limits.equal_widths else AXES + SEPARATE_WIDTHS:
            if isinstance(outcome.case, AttentionCase):
                outcome = self._first_wanted(shorter(outcome.case, axes, space)) or outcome
        return outcome

    def _narrowed(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a rare case with as few changes, samples and rows as still fail."""
        tried: set[RareCase] = set()
        while isinstance(outcome.case, RareCase) and outcome.case not in tried:
            tried.add(outcome.case)
            outcome = self._first_wanted(outcome.case.narrower()) or outcome
        return outcome

    def _plainest(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the roundest values that fail at these sizes; small values may need another seed."""
        case: Any = outcome.case
        if not hasattr(case, "palette"):
            return outcome
        plain = {name: value for name, value in (("amplitude", 1), ("regimes", ())) if hasattr(case, name)}
        rounder = (
            replace(case, palette=palette, seed=seed, **plain)
            for palette, seed in product(EXACT_PALETTES, range(_PLAIN_SEEDS))
        )
        return self._first_wanted(takewhile(lambda other: other != case, rounder)) or outcome

    def judge_once(self) -> Outcome:
        """Judge a law that has no cases."""
        outcome = self.judge(None)
        self._count(outcome)
        return outcome

    def judge(self, case: AnyCase | None) -> Outcome:
        """Judge the law on one case, or on none what it checks afterwards; keep the calls for the counterexample."""
        self.subject.calls.clear()
        inputs = None if case is None else draw_inputs(self.subject.operation.name, case)
        try:
            verdict = self.law.judge(Trial(self.subject, case, inputs))
        except (NotOffered, DifferentiationRefused) as reason:
            return Outcome("not_offered", case, error=str(reason))
        except CallRefused as error:
            return Outcome("refused", case, error=str(error), refusal=error.refusal)
        except OperationRaised as error:
            # At the first exception, find what the operation refuses; a call that is refused is then not made.
            known = self.subject.refusals
            if known is not None and known.learn(self._raised(inputs)):
                return self.judge(case)
            return Outcome("errors", case, error=str(error), traceback=_traceback(error))
        except (AdapterError, WrongShape) as error:
            return Outcome("errors", case, error=str(error), traceback=_traceback(error), fate=_fate(error))
        return Outcome("holds" if verdict.holds else "fails", case, verdict)

    def _raised(self, inputs: Inputs | None) -> Inputs | None:
        """Return the inputs of the last call."""
        return next((call.inputs for call in reversed(self.subject.calls) if call.inputs is not None), inputs)

    def counterexample(self, outcome: Outcome) -> Counterexample:
        """Return the outcome's case with its calls, by judging it once more.

        Where a call did not come back, its calls are the last that were made.
        """
        if outcome.comes_back:
            self.judge(outcome.case)
        verdict = outcome.verdict or words("a result that can be judged", outcome.error, holds=False)
        return Counterexample(outcome.case, tuple(self.subject.calls), verdict, self._eager_allows(outcome))

    def example_of(self, refusal: Refused) -> Outcome:
        """Return the outcome of a small case that is refused, with its calls made all the same."""
        small, whole = self._drawn(replace(self.limits, small=True), _SWEPT_DRAWS), list(self._known)
        for case in sorted(small, key=_length)[:MOST_TRIED] + whole:
            if self.judge(case).refusal == refusal:
                known, self.subject.refusals = self.subject.refusals, None
                outcome = self.judge(case)
                self.subject.refusals = known
                return replace(outcome, refusal=refusal)
        return Outcome("refused", error=refusal.sentence, refusal=refusal)

    def _eager_allows(self, outcome: Outcome) -> bool:
        """Return whether a case that fails under fused numerics would hold under eager ones."""
        if outcome.kind != "fails" or self.subject.conventions.get("numerics") != "fused":
            return False
        eager = replace(self.subject, conventions={**self.subject.conventions, "numerics": "eager"}, calls=[])
        return replace(self, subject=eager).judge(outcome.case).kind == "holds"

    def _is_wanted(self, case: AnyCase) -> bool:
        """Return whether the law fails on a case in the way first seen; a case is judged once."""
        outcome = self._known.get(case)
        if outcome is None:
            if self._ends_shrinking():
                return False
            outcome = self.judge(case)
            self._known[case] = outcome
            if self._wanted is None:
                self._count(outcome)
            else:
                self._count_shrinking(outcome)
        if outcome.kind in ("holds", "refused"):
            return False
        if self._wanted is None:
            self._wanted = outcome.kind
            self._deadline = time.monotonic() + RUNAWAY_SECONDS
        return outcome.kind == self._wanted

    def _ends_shrinking(self) -> bool:
        """Return whether the search for a smaller case has ended: by its work, by a lost call, or by the clock."""
        if self._wanted is None:
            return False
        if not self.gave_up and time.monotonic() > self._deadline:
            self.gave_up = self.cut_short = True
        done = self._tried >= min(self._most, self._until) or self._products >= _MOST_PRODUCTS
        return self.is_spent() or self.gave_up or done

    @property
    def _most(self) -> int:
        """How many calls may be made in order to find a smaller case."""
        if self.limits.compiles_per_shape:
            return BRIEFLY_TRIED_COMPILED if self.briefly else MOST_TRIED_COMPILED
        return self.most_tried or (BRIEFLY_TRIED if self.briefly else MOST_TRIED)

    def _count_shrinking(self, outcome: Outcome) -> None:
        self._tried += max(len(self.subject.calls), 1)
        self._products += sum(self._products_of(record) for record in self.subject.calls)
        # A smaller counterexample is not worth another process, or more seconds of waiting.
        self.gave_up = self.gave_up or not outcome.comes_back

    def _products_of(self, record: CallRecord) -> int:
        box = self.limits.black_box
        tokens = record.arguments.get("inputs")
        of_model = 0 if box is None or tokens is None else box.products_per_token * math.prod(tokens.shape[:2])
        return products_in(record.arguments) + of_model

    def _count(self, outcome: Outcome) -> None:
        if outcome.refusal is not None:
            self.refused[outcome.refusal] += 1
            return
        self.cases_tried += cases_in(outcome.case)
        if outcome.verdict is not None:
            self.largest_excess = max(self.largest_excess, outcome.verdict.excess)


def _length(case: AnyCase) -> tuple[int, int]:
    """Return how much there is to read: the sizes first, then the words of the settings."""
    return case.size, len(case.describe())


def _first_wrong(outcome: Outcome, samples: int) -> int | None:
    """Return the first sample with a wrong result; None where the first axis is not that of the samples."""
    wrong = None if outcome.verdict is None else outcome.verdict.wrong
    if wrong is None or wrong.ndim < 2 or len(wrong) != samples or not wrong.any():
        return None
    return int(np.argmax(wrong.reshape(samples, -1).any(axis=1)))


def _reading(outcome: Outcome) -> tuple[int, int]:
    return _length(outcome.case) if outcome.case else (0, 0)


def _fate(error: Exception) -> Fate:
    return next((fate for kind, fate in _FATES if isinstance(error, kind)), "answered")


def _traceback(error: BaseException) -> str:
    return formatted_traceback(error.original if isinstance(error, OperationRaised) else error)
