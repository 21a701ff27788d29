"""One law tried on one case: the inputs, the calls, and the comparisons of which laws consist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.batches import AnyCase

Selection = Callable[[Array], Array]
Bound = Callable[[Inputs], Array]
InputsT = TypeVar("InputsT", bound=Inputs | None, covariant=True)


class NotOffered(Exception):
    """The implementation does not offer something that the law needs; the message names it."""


def everything(result: Array) -> Array:
    """Return the whole result: the selection of a law that compares all of it."""
    return result


@dataclass
class Trial(Generic[InputsT]):
    """A case and the operation under test; `inputs` are those of the case, None without a case."""

    subject: Subject
    case: AnyCase | None
    inputs: InputsT
    # The expected results of the law's calls, by the inputs, which are kept so that their ids stay unique.
    _expected: dict[int, tuple[Inputs, Expected]] = field(default_factory=dict)

    @property
    def conventions(self) -> Conventions:
        """The conventions that the operation obeys."""
        return self.subject.conventions

    @property
    def generator(self) -> np.random.Generator:
        """A generator for the law's own choices, the same at every replay and apart from the inputs'."""
        return np.random.default_rng([self.case.seed if self.case else 0, 1])

    def permutation(self, length: int) -> Array:
        """Return an order of `length` items that moves at least one of them if possible."""
        order = self.generator.permutation(length)
        return order if (order != np.arange(length)).any() else np.roll(order, 1)

    def output(self, inputs: Inputs) -> Array:
        """Return the operation's result."""
        return self.subject.call(inputs)

    def expected(self, inputs: Inputs) -> Expected:
        """Return the exact result of a call and its error bound, which are computed once."""
        if id(inputs) not in self._expected:
            self._expected[id(inputs)] = inputs, inputs.expected(self.conventions)
        return self._expected[id(inputs)][1]

    def allowed(self, *inputs: Inputs) -> Array:
        """Return the sum of the error bounds of these inputs' results."""
        errors = [self.expected(one).allowed for one in inputs]
        return np.asarray(sum(errors[1:], start=errors[0]))

    def agrees(self: Trial[Inputs], inputs: Inputs | None = None) -> Verdict:
        """Judge the operation's result against the exact one."""
        inputs = self.inputs if inputs is None else inputs
        expected = self.expected(inputs)
        return self.within(expected.value, self.output(inputs), lambda bound: bound(inputs), expected.judged)

    def within(
        self,
        first: Array,
        second: Array,
        allowed: Callable[[Bound], Array],
        judged: Array | None = None,
        note: str = "",
        *,
        may_be_nan: bool = True,
    ) -> Verdict:
        """Judge whether two arrays agree within `allowed`, a function of the error bounds of calls: `within_bounds`."""
        return self.within_bounds(
            lambda bound: compare(first, second, allowed(bound), judged, note, may_be_nan=may_be_nan)
        )

    def within_bounds(self, judge: Callable[[Bound], Verdict]) -> Verdict:
        """Return the verdict of `judge` on the error bounds of calls. If a bound is costly, and its call is expected
        already, its cheaper parts are tried first; they suffice for most correct results.
        """

        def at(level: int) -> Bound:
            return lambda inputs: self.expected(inputs).floor(level)

        levels = max((len(expected.floors) for _, expected in self._expected.values()), default=0)
        for level in range(levels):
            verdict = judge(at(level))
            if verdict.holds:
                # As a fraction of the whole bound the error is not known, and less than that of a part of it.
                return replace(verdict, excess=0.0)
        # Of a call that was not expected before, no cheaper part was tried.
        return judge(lambda inputs: self.expected(inputs).allowed)

    def equal(
        self,
        first: Inputs,
        second: Inputs,
        *,
        of_first: Selection = everything,
        of_second: Selection = everything,
        note: str = "",
    ) -> Verdict:
        """Judge whether two calls agree, each within its own rounding: f(first) = f(second).

        `of_first` and `of_second` select or reorder the compared entries. The first call's result counts as expected.
        If the two differ by more than a correct implementation's rounding, the bound of one that sees every key is
        tried: a law about symmetry must not fail for rounding errors of an implementation whose mask is wrong.
        """
        results = of_first(self.output(first)), of_second(self.output(second))
        if np.array_equal(*results):
            # Equal to the last bit: how much they might have differed need not be known.
            return compare(*results, np.zeros(results[0].shape), note=note)
        one, other = self.expected(first), self.expected(second)
        judged = of_first(one.judged) & of_second(other.judged)

        def allowed(bound: Bound) -> Array:
            return of_first(bound(first)) + of_second(bound(second))

        verdict = self.within(*results, allowed, judged, note, may_be_nan=False)
        if verdict.holds:
            return verdict
        errors = first.loosest_error(self.conventions), second.loosest_error(self.conventions)
        loosest = of_first(one.allowed + errors[0]) + of_second(other.allowed + errors[1])
        return compare(*results, loosest, judged, note, may_be_nan=False)
