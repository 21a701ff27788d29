"""Backward passes: their inputs, and what their laws have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs, Shape
from veriformer.conformance_tests.core.trial import Bound, NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import BatchableCase
from veriformer.conformance_tests.drawing.values import fill, filled, round_to_dtype
from veriformer.conformance_tests.operations.parts import agrees, parts_of, worst
from veriformer.spec.operations import OPERATIONS

# A sixteenth of the largest number of float16.
_HELD_WITH_ROOM = float(np.finfo(np.float16).max) / 16.0

# A gradient by its name, and what of it is compared.
Selection = Callable[[str, Array], Array]


@dataclass(frozen=True, eq=False)
class GradientInputs(Inputs):
    """Inputs of a backward pass: those of the forward pass, and the gradient of each of its results."""

    if TYPE_CHECKING:

        @property
        def grad_output(self) -> Array:
            """The gradient of the loss by the result of the forward pass, or by the first of several."""

    @property
    def cotangents(self) -> dict[str, Array]:
        """The gradients of the loss by the results of the forward pass, by their names."""
        return {name: getattr(self, name) for name in OPERATIONS[self.operation].cotangents}

    def with_cotangents(self, **cotangents: Array) -> Self:
        """Return inputs with other gradients of some results, rounded to the dtype."""
        changed: dict[str, Any] = {
            name: np.asarray(round_to_dtype(np.asarray(array), self.dtype)) for name, array in cotangents.items()
        }
        return replace(self, **changed)


@dataclass(frozen=True, eq=False)
class SampledGradientInputs(GradientInputs, SampledInputs):
    """Inputs of a backward pass without a gradient that is a sum over samples."""

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`, with the gradients of their results."""
        changed: dict[str, Any] = {name: array[index] for name, array in self.cotangents.items()}
        # The inputs of the forward pass come next in the order of the base classes.
        return replace(super().take_samples(index), **changed)  # type: ignore[safe-super]


def are_held(gradients: Iterable[Array], dtype: str) -> bool:
    """Return whether a dtype holds gradients, with room for those that they are computed from, and for their sums.

    A norm of nearly equal components multiplies a gradient by up to 1/√eps, three norms by 3 · 10⁷ at eps = 10⁻⁵: more
    than float16 holds, whose programs may then return infinity or NaN. The other dtypes hold far more.
    """
    return dtype != "float16" or all(np.abs(array).max(initial=0.0) <= _HELD_WITH_ROOM for array in gradients)


def drawn_cotangent(case: BatchableCase, shape: Shape, place: int = 0) -> Array:
    """Return the gradient of a result of this shape that a case describes, of the palette of its inputs.

    It is from a generator of its own: case for case the forward inputs are those of the forward pass. `place` is that
    of the result among several.
    """
    return filled(np.random.default_rng([case.seed, 2, place]), case, shape, amplified=False)


def equal(
    trial: Trial[GradientInputs],
    first: GradientInputs,
    second: GradientInputs,
    of_first: Selection = lambda _, part: part,
    of_second: Selection = lambda _, part: part,
) -> Verdict:
    """Judge gradient by gradient whether two calls agree, as `Trial.equal` does."""
    outputs = trial.output(first), trial.output(second)
    parts = parts_of(first), parts_of(second)

    def taken(name: str, arrays: tuple[Array, ...]) -> tuple[Array, Array]:
        return of_first(name, parts[0][name](arrays[0])), of_second(name, parts[1][name](arrays[1]))

    pairs = {name: taken(name, outputs) for name in parts[0]}
    if all(np.array_equal(*pair) for pair in pairs.values()):
        # Equal to the last bit: how much they might have differed need not be known.
        return worst(compare(*pair, np.zeros(pair[0].shape)) for pair in pairs.values())
    judged = trial.expected(first).judged, trial.expected(second).judged

    def judge(*errors: Array) -> Verdict:
        def of_part(name: str) -> Verdict:
            allowed, counted = np.add(*taken(name, errors)), np.logical_and(*taken(name, judged))
            return compare(*pairs[name], allowed, counted, name, may_be_nan=False)

        return worst(map(of_part, parts[0]))

    return within(trial, (first, second), judge)


def added_up(trial: Trial[GradientInputs], shares: Iterable[GradientInputs], names: Iterable[str]) -> Verdict:
    """Judge whether some gradients of two shares of a case add up to those of the whole."""
    whole = trial.inputs
    found = [(one, parts_of(one), trial.output(one), trial.expected(one)) for one in (*shares, whole)]

    def judge(bound: Bound, name: str) -> Verdict:
        (a, b, total), errors, judged = (
            [parts[name](array) for (_, parts, *_), array in zip(found, arrays, strict=True)]
            for arrays in (
                [output for _, _, output, _ in found],
                [bound(one) for one, *_ in found],
                [expected.judged for *_, expected in found],
            )
        )
        return compare(a + b, total, np.add.reduce(errors), np.logical_and.reduce(judged), name, may_be_nan=False)

    return trial.within_bounds(lambda bound: worst(judge(bound, name) for name in names))


def within(trial: Trial[GradientInputs], inputs: Iterable[GradientInputs], judge: Callable[..., Verdict]) -> Verdict:
    """Return the verdict of `judge`, which gets the error bound of each input's gradients. If it fails, `judge` gets
    those of an implementation that sees every key, as in `Trial.equal`: a law that compares gradients with each other
    does not judge an error of all of them.
    """
    given = tuple(inputs)
    for one in given:
        trial.expected(one)
    verdict = trial.within_bounds(lambda bound: judge(*(bound(one) for one in given)))
    if verdict.holds:
        return verdict
    errors = [trial.allowed(one) for one in given]
    return judge(*(error + one.loosest_error(trial.conventions) for error, one in zip(errors, given, strict=True)))


def linear(trial: Trial[GradientInputs]) -> Verdict:
    """Twice some gradients of the results plus others give twice the gradients plus the others.

    The coefficients do not sum to one: a gradient that ignores that of the output would obey any that do.
    """
    inputs, generator = trial.inputs, trial.generator
    # Small integers: their combination is exact in every dtype, so only the operation rounds.
    drawn = {name: fill(generator, array.shape, "integers") for name, array in inputs.cotangents.items()}
    other = inputs.with_cotangents(**drawn)
    combined = inputs.with_cotangents(
        **{name: 2.0 * array + other.cotangents[name] for name, array in inputs.cotangents.items()}
    )
    outputs = [trial.output(given) for given in (inputs, other, combined)]
    judged = trial.expected(inputs).judged

    def judge(*errors: Array) -> Verdict:
        expected, allowed = 2.0 * outputs[0] + outputs[1], 2.0 * errors[0] + errors[1] + errors[2]
        return worst(
            compare(part(expected), part(outputs[2]), part(allowed), part(judged), name, may_be_nan=False)
            for name, part in parts_of(inputs).items()
        )

    return within(trial, (inputs, other, combined), judge)


def without_grad_output(trial: Trial[GradientInputs]) -> Verdict:
    """A result without influence on the loss passes no gradient on."""
    nothing = {name: np.zeros_like(array) for name, array in trial.inputs.cotangents.items()}
    return agrees(trial, trial.inputs.with_cotangents(**nothing))


def rows_sum_to_zero(trial: Trial[GradientInputs]) -> Verdict:
    """The one gradient sums to zero along its last axis, where all of it is judged: a shift changes nothing."""
    sums, judged = trial.output(trial.inputs).sum(axis=-1), trial.expected(trial.inputs).judged
    return compare(
        np.zeros(sums.shape), sums, trial.allowed(trial.inputs).sum(axis=-1), np.asarray(judged.all(axis=-1))
    )


def agrees_at_empty_rows(trial: Trial[Inputs], inputs: Inputs, empty: Array) -> Verdict:
    """Judge all gradients, those too that rows without a visible key reach; `empty` says which rows these are.

    NotOffered where such a row has another output than zero.
    """
    if trial.conventions["empty_row"] != "zeros" and empty.any():
        raise NotOffered("the output of a query that sees no key is not zero; its gradients are not compared")
    expected, output = trial.expected(inputs), trial.output(inputs)
    return trial.within_bounds(
        lambda bound: worst(
            compare(part(expected.value), part(output), part(bound(inputs)), None, name)
            for name, part in parts_of(inputs).items()
        )
    )
