"""Comparing two implementations on one case: the same arguments, each in its own layout and mask polarity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from veriformer.adapters.errors import (
    AdapterError,
    OperationLost,
    OperationNotTried,
    OperationRaised,
    OperationTimedOut,
)
from veriformer.conformance_tests.comparison.comparison import CaseComparison, Cause, ConventionPair, Side
from veriformer.conformance_tests.conventions.profile import Finding, Profile
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import CallRefused, Refused, Subject, WrongShape
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.rarity import RareCase
from veriformer.conformance_tests.operations.inputs import draw_inputs

# Calls without a result that could be right or wrong.
_UNFINISHED = (OperationTimedOut, OperationNotTried)
# The operations whose expectation has the right value, and a bound, in the rows that see no key too.
_EMPTY_ROWS_HAVE_VALUES = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights")
_SIDES: Mapping[tuple[bool, bool], Side] = {
    (True, True): "both",
    (True, False): "first",
    (False, True): "second",
    (False, False): "neither",
}


@dataclass
class Pair:
    """One operation of two implementations; every case is compared once."""

    first: Profile
    second: Profile
    _known: dict[Case | RareCase, CaseComparison] = field(default_factory=dict, init=False)

    @property
    def subjects(self) -> tuple[Subject, Subject]:
        """The operation as each has it."""
        return self.first.subject, self.second.subject

    @property
    def conventions(self) -> tuple[ConventionPair, ...]:
        """The conventions that bear on what both offer of the operation, side by side."""
        common = self.subjects[0].features & self.subjects[1].features
        masked = bool(common & {"mask", "bias"})
        needed = {"mask_polarity": "mask" in common, "causal_with_mask": "is_causal" in common and masked}
        return tuple(
            ConventionPair(one.convention, one.value, other.value, (_how(one), _how(other)))
            for one, other in zip(self.first.findings, self.second.findings, strict=True)
            if needed.get(one.convention, True)
        )

    @property
    def compares_empty_rows(self) -> bool:
        """Whether rows that see no key are compared: where both are known to put the same there."""
        if self.subjects[0].operation.name not in _EMPTY_ROWS_HAVE_VALUES:
            return False
        found = [pair for pair in self.conventions if pair.name == "empty_row"]
        return all(pair.first == pair.second and pair.known for pair in found)

    def compare(self, case: Case | RareCase) -> CaseComparison:
        """Compare the two on a case."""
        if case not in self._known:
            self._known[case] = self._compare(case)
        return self._known[case]

    def refused_by(self, side: int, refusals: tuple[Refused, ...], others: tuple[Refused, ...]) -> tuple[str, ...]:
        """Return what one side refuses, and does not say itself, of what the other takes.

        Refusals that no case met are the same where they have the same words.
        """
        met = [compared.refused for compared in self._known.values() if compared.refused[side]]
        alone = {one.sentence for pair in met if (one := pair[side]) and not pair[1 - side]}
        known = {one.sentence for pair in met if (one := pair[side])} | {other.sentence for other in others}
        return tuple(
            one.sentence
            for one in refusals
            if not one.declared and (one.sentence in alone or one.sentence not in known)
        )

    def _compare(self, case: Case | RareCase) -> CaseComparison:
        inputs = draw_inputs(self.subjects[0].operation.name, case)
        (first, error), (second, other_error) = (_called(subject, inputs) for subject in self.subjects)
        refused = _refused(error), _refused(other_error)
        if any(refused):
            return CaseComparison(case, inputs.dtype, inputs.arguments(), (None, None), refused=refused)
        errors = _sentence(error), _sentence(other_error)
        lost = _lost(error) or _lost(other_error)
        compared = CaseComparison(case, inputs.dtype, inputs.arguments(), (first, second), errors, lost=lost)
        unjudged = [_sentence(each) for each in (error, other_error) if isinstance(each, _UNFINISHED)]
        if unjudged:
            # Without a result neither is right or wrong.
            return replace(compared, unjudged=unjudged[0])
        if first is None and second is None:
            return compared
        expected = self._expected(inputs, first, second)
        compared = replace(compared, expected=(expected[0].value, expected[1].value))
        if first is None or second is None:
            returned, its = (second, expected[1]) if first is None else (first, expected[0])
            right = _is_right(its, returned, its.judged)
            cause = Cause(_SIDES[first is not None and right, second is not None and right], raised=True)
            return replace(compared, cause=cause, excess=float("inf"))
        return self._judged(compared, inputs, first, second, expected)

    def _judged(
        self, compared: CaseComparison, inputs: Inputs, first: Array, second: Array, expected: tuple[Expected, Expected]
    ) -> CaseComparison:
        one, other = expected
        judged = one.judged & other.judged
        if self.compares_empty_rows:
            judged = judged | (~one.judged & ~other.judged)
        if self.subjects[0].operation.random:
            # Where the two drew different numbers their results have to differ.
            judged = judged & (one.value == other.value)
        verdict = compare(first, second, one.allowed + other.allowed, judged)
        if verdict.holds or verdict.wrong is None:
            return replace(compared, excess=verdict.excess, contradicts=_contradicting((one, first), (other, second)))
        # Only entries that differ decide which is right: elsewhere they agree, right or wrong.
        right = _is_right(one, first, verdict.wrong), _is_right(other, second, verdict.wrong)
        conventions = tuple(self._responsible(inputs, first, verdict.wrong)) if all(right) else ()
        cause = Cause(_SIDES[right], conventions)
        return replace(compared, wrong=verdict.wrong, excess=verdict.excess, cause=cause)

    def _expected(self, inputs: Inputs, *results: Array | None) -> tuple[Expected, Expected]:
        one, other = (subject.conventions for subject in self.subjects)
        if self.subjects[0].operation.random:
            # Each is judged by the random numbers that it drew itself.
            drawn = [inputs if result is None else inputs.as_drawn(result) for result in results]
            return drawn[0].expected(one), drawn[1].expected(other)
        expected = inputs.expected(one)
        return expected, expected if dict(one) == dict(other) else inputs.expected(other)

    def _responsible(self, inputs: Inputs, first: Array, wrong: Array) -> Iterator[str]:
        """Yield the convention which, were it the first's, would bring the second to the first's result.

        Where no single one does, yield all that change what the second returns.
        """
        own, others = (subject.conventions for subject in self.subjects)
        swaps = {name: {**others, name: own[name]} for name in others if others[name] != own[name]}
        expected = {name: inputs.expected(conventions) for name, conventions in swaps.items()}
        alone = [name for name in swaps if _is_right(expected[name], first, wrong)]
        yield from alone or _that_matter(expected, inputs, others)


def _how(finding: Finding) -> str:
    """Return how a value is known: one of several that still stand is not."""
    return "standard" if finding.unknown else finding.how


def _that_matter(expected: Mapping[str, Expected], inputs: Inputs, conventions: Conventions) -> Iterator[str]:
    present = inputs.expected(conventions).value
    for name, swapped in expected.items():
        if not np.array_equal(swapped.value, present, equal_nan=True):
            yield name


def _contradicting(first: tuple[Expected, Array], second: tuple[Expected, Array]) -> tuple[bool, bool]:
    """Return which of two that agree is not what its conventions say, where these expect different results."""
    (one, result), (other, other_result) = first, second
    if one is other:
        return False, False
    allowed = one.allowed + other.allowed
    apart = compare(one.value, other.value, allowed, one.judged & other.judged).wrong
    if apart is None:
        return False, False
    return not _is_right(one, result, apart), not _is_right(other, other_result, apart)


def _called(subject: Subject, inputs: Inputs) -> tuple[Array | None, Exception | None]:
    """Return the result, or None and why there is none."""
    subject.calls.clear()
    try:
        return subject.call(inputs), None
    except OperationRaised as error:
        # At the first exception, find what the operation refuses.
        learned = subject.refusals is not None and subject.refusals.learn()
        return _called(subject, inputs) if learned else (None, error)
    except (AdapterError, WrongShape) as error:
        return None, error


def _refused(error: Exception | None) -> Refused | None:
    return error.refusal if isinstance(error, CallRefused) else None


def _sentence(error: Exception | None) -> str:
    return "" if error is None else str(error)


def _lost(error: Exception | None) -> bool:
    return isinstance(error, OperationLost) and not isinstance(error, OperationNotTried)


def _is_right(expected: Expected, result: Array | None, judged: Array) -> bool:
    return result is not None and compare(expected.value, result, expected.allowed, judged).holds
