"""The gradients of attention: their values, their sums, and where they vanish.

The three gradients are compared one after the other, so that a counterexample shows the one that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import fill
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.inputs import OPERATION, BackwardInputs

BACKWARD = (OPERATION,)
PARTS = ("grad_query", "grad_key", "grad_value")
_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes", least_keys=2)
# Softmax differentiated through (Σ exp)² overflows float16 from 256 equal logits on.
_MANY = 300


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first verdict that does not hold, else the one closest to failing."""
    ordered = list(verdicts)
    failed = [verdict for verdict in ordered if not verdict.holds]
    return failed[0] if failed else max(ordered, key=lambda verdict: verdict.excess)


def agrees(trial: Trial[BackwardInputs], inputs: BackwardInputs, *names: str) -> Verdict:
    """Judge the gradients named, or all, against the exact ones."""
    expected, output = trial.expected(inputs), trial.output(inputs)

    def judge(name: str) -> Verdict:
        part = inputs.part(name)
        return compare(part(expected.value), part(output), part(expected.allowed), part(expected.judged), name)

    return worst(judge(name) for name in names or PARTS)


def equal(
    trial: Trial[BackwardInputs],
    first: BackwardInputs,
    second: BackwardInputs,
    of_first: Callable[[str, Array], Array] = lambda _, part: part,
    of_second: Callable[[str, Array], Array] = lambda _, part: part,
) -> Verdict:
    """Judge gradient by gradient whether two calls agree, as `Trial.equal` does."""
    exact = trial.expected(first), trial.expected(second)
    outputs = trial.output(first), trial.output(second)

    def judge(name: str, *looser: Array) -> Verdict:
        def taken(arrays: tuple[Array, ...]) -> tuple[Array, Array]:
            return of_first(name, first.part(name)(arrays[0])), of_second(name, second.part(name)(arrays[1]))

        one, other = taken(outputs)
        judged = np.logical_and(*taken((exact[0].judged, exact[1].judged)))
        allowed = np.add(*taken((exact[0].allowed, exact[1].allowed)))
        if looser:
            allowed = allowed + np.add(*taken(looser))
        return compare(one, other, allowed, judged, name, may_be_nan=False)

    verdict = worst(judge(name) for name in PARTS)
    if verdict.holds:
        return verdict
    # A law about symmetry must not fail for the rounding of an implementation whose mask or scale is wrong.
    looser = first.loosest_error(trial.conventions), second.loosest_error(trial.conventions)
    return worst(judge(name, *looser) for name in PARTS)


def within(trial: Trial[BackwardInputs], inputs: Iterable[BackwardInputs], judge: Callable[..., Verdict]) -> Verdict:
    """Return the verdict of `judge`, which gets the error bound of each input's gradients. If it fails, `judge` gets
    those of an implementation that sees every key, as in `Trial.equal`: a law that compares gradients with each other
    does not judge an error of all of them.
    """
    given = tuple(inputs)
    errors = [trial.allowed(one) for one in given]
    verdict = judge(*errors)
    if verdict.holds:
        return verdict
    return judge(*(error + one.loosest_error(trial.conventions) for error, one in zip(errors, given, strict=True)))


@judges("grad_query", space=_ANY, operations=BACKWARD)
def grad_query(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradient of the queries is the formula's."""
    return agrees(trial, trial.inputs, "grad_query")


@judges("grad_key", space=_ANY, operations=BACKWARD)
def grad_key(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradient of the keys is the formula's."""
    return agrees(trial, trial.inputs, "grad_key")


@judges("grad_value", space=_ANY, operations=BACKWARD)
def grad_value(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradient of the values is the formula's."""
    return agrees(trial, trial.inputs, "grad_value")


@judges("explicit_scale", space=replace(_ANY, scale="always"), operations=BACKWARD)
@judges("value_width", space=AttentionSpace(widths="unequal"), operations=BACKWARD)
@judges(
    "large_logits",
    space=replace(_ANY, amplitudes=(10, 30), palettes=("integers", "normal", "offset")),
    operations=BACKWARD,
)
@judges("mask.value", space=AttentionSpace(mask="always", least_keys=2), operations=BACKWARD)
@judges(
    "causal.unequal_lengths",
    space=AttentionSpace(causal="always", lengths="unequal", least_queries=2, least_keys=2),
    operations=BACKWARD,
)
def agrees_with_formula(trial: Trial[BackwardInputs]) -> Verdict:
    """All gradients are the formula's."""
    return agrees(trial, trial.inputs)


@judges(
    "many_keys",
    space=AttentionSpace(keys=_MANY, queries=2, heads=1, amplitudes=(1,)),
    operations=BACKWARD,
)
def many_keys(trial: Trial[BackwardInputs]) -> Verdict:
    """Hundreds of equal keys with equal values give the query no gradient."""
    inputs = trial.inputs
    inputs = replace(inputs, key=np.ones_like(inputs.key), value=np.ones_like(inputs.value))
    part, expected = inputs.part("grad_query"), trial.expected(inputs)
    received = part(trial.output(inputs))
    return compare(np.zeros(received.shape), received, part(expected.allowed), None, "grad_query")


@judges("single_key", space=AttentionSpace(keys=1), operations=BACKWARD)
def single_key(trial: Trial[BackwardInputs]) -> Verdict:
    """The one value gets the sum of the outputs' gradients, the one key and the queries get none."""
    inputs = trial.inputs
    expected, output = trial.expected(inputs), trial.output(inputs)
    gradients = {
        "grad_query": np.zeros(inputs.query.shape),
        "grad_key": np.zeros(inputs.key.shape),
        "grad_value": inputs.grad_output.sum(axis=2, keepdims=True),
    }
    parts = {name: inputs.part(name) for name in PARTS}
    return worst(
        compare(gradients[name], part(output), part(expected.allowed), None, name) for name, part in parts.items()
    )


@judges("values.equal", space=_ANY, operations=BACKWARD)
def equal_values(trial: Trial[BackwardInputs]) -> Verdict:
    """Equal values leave queries and keys without a gradient."""
    inputs = trial.inputs
    inputs = replace(inputs, value=np.broadcast_to(inputs.value[:, :, :1], inputs.value.shape).copy())
    expected, output = trial.expected(inputs), trial.output(inputs)

    def judge(name: str) -> Verdict:
        part = inputs.part(name)
        received = part(output)
        return compare(np.zeros(received.shape), received, part(expected.allowed), part(expected.judged), name)

    return worst(judge(name) for name in PARTS[:2])


@judges("grad_output.linear", space=replace(_ANY, palettes=EXACT_PALETTES), operations=BACKWARD)
def linear_in_grad_output(trial: Trial[BackwardInputs]) -> Verdict:
    """Twice one gradient of the output minus another gives twice the gradients minus the others."""
    inputs = trial.inputs
    # Small integers: their combination is exact in every dtype, so only the operation rounds.
    other = replace(inputs, grad_output=fill(trial.generator, inputs.grad_output.shape, "integers"))
    combined = replace(inputs, grad_output=2.0 * inputs.grad_output - other.grad_output)
    outputs = [trial.output(given) for given in (inputs, other, combined)]
    judged = _judged(trial, inputs)

    def judge(*errors: Array) -> Verdict:
        expected, allowed = 2.0 * outputs[0] - outputs[1], 2.0 * errors[0] + errors[1] + errors[2]
        parts = {name: inputs.part(name) for name in PARTS}
        return worst(
            compare(of(expected), of(outputs[2]), of(allowed), of(judged), name, may_be_nan=False)
            for name, of in parts.items()
        )

    return within(trial, (inputs, other, combined), judge)


@judges("keys.sum_to_zero", space=_ANY, operations=BACKWARD)
def keys_sum_to_zero(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradients of the keys of each head add up to zero."""
    inputs = trial.inputs
    return _sums_to(trial, "grad_key", np.zeros((*inputs.key.shape[:2], inputs.key.shape[-1])))


@judges("values.sum", space=_ANY, operations=BACKWARD)
def values_sum(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradients of the values of each head add up to those of the outputs."""
    return _sums_to(trial, "grad_value", trial.inputs.grad_output.sum(axis=2))


def _sums_to(trial: Trial[BackwardInputs], name: str, expected: Array) -> Verdict:
    """Judge whether one gradient, summed over keys, is what is expected."""
    inputs = trial.inputs
    part = inputs.part(name)
    sums = part(trial.output(inputs)).sum(axis=2)
    whole = np.asarray(part(_judged(trial, inputs)).all(axis=2))

    def judge(error: Array) -> Verdict:
        allowed = part(error).sum(axis=2)
        return compare(expected, sums, allowed, whole, f"sum of {name} over keys", may_be_nan=False)

    return within(trial, (inputs,), judge)


@judges("equal_shares", space=_ANY, operations=BACKWARD)
def equal_shares(trial: Trial[BackwardInputs]) -> Verdict:
    """Queries times their gradients and keys times theirs add up to the same in each head."""
    inputs = trial.inputs
    output, judged = trial.output(inputs), _judged(trial, inputs)

    def share(name: str, factor: Array, array: Array) -> Array:
        return np.asarray(np.sum(factor * inputs.part(name)(array), axis=(2, 3)))

    def judge(error: Array) -> Verdict:
        queries, keys = share("grad_query", inputs.query, output), share("grad_key", inputs.key, output)
        allowed = share("grad_query", np.abs(inputs.query), error) + share("grad_key", np.abs(inputs.key), error)
        whole = np.asarray(inputs.part("grad_key")(judged).all(axis=(2, 3)))
        return compare(queries, keys, allowed, whole, "Σ Q · dQ against Σ K · dK", may_be_nan=False)

    return within(trial, (inputs,), judge)


def _judged(trial: Trial[BackwardInputs], inputs: BackwardInputs) -> Array:
    """Return which gradients no row without a visible key reaches."""
    empty = inputs.empty_rows(trial.conventions)
    reached = {"grad_query": empty[..., None]} | dict.fromkeys(
        PARTS[1:], np.any(empty, axis=-1, keepdims=True)[..., None]
    )
    return join([np.broadcast_to(~reached[name], shape) for name, shape in inputs.parts.items()])
