"""The gradients of attention, grouped or not: their values, their sums, and where they vanish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.inputs import (
    BACKWARD,
    WITH_VALUES,
    BackwardInputs,
    LogitsBackwardInputs,
)
from veriformer.conformance_tests.operations.gradients import linear, within, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees, agrees_in, parts_of, worst

_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes", least_keys=2)
# Softmax differentiated through (Σ exp)² overflows float16 from 256 equal logits on.
_MANY = 300


for _name in ("grad_query", "grad_key"):
    judges(_name, space=_ANY, operations=BACKWARD)(agrees_in(_name))
judges("grad_value", space=_ANY, operations=WITH_VALUES)(agrees_in("grad_value"))


@judges("explicit_scale", space=replace(_ANY, scale="always"), operations=BACKWARD)
@judges("value_width", space=AttentionSpace(widths="unequal"), operations=WITH_VALUES)
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
def agrees_with_formula(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """All gradients are the formula's."""
    return agrees(trial, trial.inputs)


@judges(
    "many_keys",
    space=AttentionSpace(keys=_MANY, queries=2, heads=1, amplitudes=(1,)),
    operations=BACKWARD,
)
def many_keys(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """Hundreds of equal keys, with equal values if there are any, give the query no gradient."""
    inputs = trial.inputs
    value = None if inputs.value is None else np.ones_like(inputs.value)
    inputs = replace(inputs, key=np.ones_like(inputs.key), value=value)
    part = inputs.part("grad_query")
    received = part(trial.output(inputs))
    trial.expected(inputs)
    return trial.within(np.zeros(received.shape), received, lambda bound: part(bound(inputs)), None, "grad_query")


@judges("single_key", space=AttentionSpace(keys=1), operations=BACKWARD)
def single_key(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """The one value, if any, gets the sum of the outputs' gradients, the one key and the queries get none."""
    inputs = trial.inputs
    output = trial.output(inputs)
    gradients = {name: np.zeros(shape) for name, shape in inputs.parts.items()}
    if inputs.value is not None:
        gradients["grad_value"] = of_groups(inputs, inputs.grad_output.sum(axis=2, keepdims=True))
    trial.expected(inputs)
    return trial.within_bounds(
        lambda bound: worst(
            compare(gradients[name], part(output), part(bound(inputs)), None, name)
            for name, part in parts_of(inputs).items()
        )
    )


@judges("values.equal", space=_ANY, operations=WITH_VALUES)
def equal_values(trial: Trial[BackwardInputs]) -> Verdict:
    """Equal values leave queries and keys without a gradient."""
    inputs = trial.inputs
    equal = np.broadcast_to(inputs.value[:, :, :1], inputs.value.shape).copy()
    return no_gradient_of_logits(trial, replace(inputs, value=equal))


def no_gradient_of_logits(trial: Trial[LogitsBackwardInputs], inputs: LogitsBackwardInputs) -> Verdict:
    """Judge whether neither queries nor keys have a gradient."""
    output, judged = trial.output(inputs), trial.expected(inputs).judged

    def judge(error: Array) -> Verdict:
        return worst(
            compare(np.zeros(inputs.parts[name]), part(output), part(error), part(judged), name)
            for name, part in parts_of(inputs).items()
            if name != "grad_value"
        )

    return within(trial, (inputs,), judge)


judges("grad_output.linear", space=replace(_ANY, palettes=EXACT_PALETTES), operations=BACKWARD)(linear)
judges("grad_output.zero", space=_ANY, operations=BACKWARD)(without_grad_output)


@judges("keys.sum_to_zero", space=_ANY, operations=BACKWARD)
def keys_sum_to_zero(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """The gradients of the keys of each head add up to zero."""
    inputs = trial.inputs
    return _sums_to(trial, "grad_key", np.zeros((*inputs.key.shape[:2], inputs.key.shape[-1])))


@judges("values.sum", space=_ANY, operations=WITH_VALUES)
def values_sum(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """The gradients of the values of each head add up to those of the outputs of its group."""
    return _sums_to(trial, "grad_value", of_groups(trial.inputs, trial.inputs.grad_output.sum(axis=2)))


def of_groups(inputs: LogitsBackwardInputs, of_heads: Array) -> Array:
    """Return the sums of what belongs to query heads (B, H, …) over each group, (B, key/value heads, …)."""
    batch, _, *rest = of_heads.shape
    return np.asarray(of_heads.reshape(batch, -1, inputs.group_size, *rest).sum(axis=2))


def _sums_to(trial: Trial[LogitsBackwardInputs], name: str, expected: Array) -> Verdict:
    """Judge whether one gradient, summed over keys, is what is expected."""
    inputs = trial.inputs
    part = inputs.part(name)
    sums = part(trial.output(inputs)).sum(axis=2)
    whole = np.asarray(part(trial.expected(inputs).judged).all(axis=2))

    def judge(error: Array) -> Verdict:
        allowed = part(error).sum(axis=2)
        return compare(expected, sums, allowed, whole, f"sum of {name} over keys", may_be_nan=False)

    return within(trial, (inputs,), judge)


@judges("equal_shares", space=_ANY, operations=BACKWARD)
def equal_shares(trial: Trial[LogitsBackwardInputs]) -> Verdict:
    """Queries times their gradients and keys times theirs add up to the same in each head, or group."""
    inputs = trial.inputs
    output, judged = trial.output(inputs), trial.expected(inputs).judged

    def share(name: str, factor: Array, array: Array) -> Array:
        products = np.sum(factor * inputs.part(name)(array), axis=(2, 3))
        return of_groups(inputs, products) if name == "grad_query" else np.asarray(products)

    def judge(error: Array) -> Verdict:
        queries, keys = share("grad_query", inputs.query, output), share("grad_key", inputs.key, output)
        allowed = share("grad_query", np.abs(inputs.query), error) + share("grad_key", np.abs(inputs.key), error)
        whole = np.asarray(inputs.part("grad_key")(judged).all(axis=(2, 3)))
        return compare(queries, keys, allowed, whole, "Σ Q · dQ against Σ K · dK", may_be_nan=False)

    return within(trial, (inputs,), judge)
