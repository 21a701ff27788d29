"""Laws of the gradients of a bias and of sinks; those of attention's gradients that hold here are judged alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array, present, shared_axes
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.additions_backward.inputs import BIAS, SINKS, AdditionInputs
from veriformer.conformance_tests.operations.attention.case import MASK_SHAPES, AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.laws import masks
from veriformer.conformance_tests.operations.gradients import (
    Selection,
    added_up,
    agrees_at_empty_rows,
    equal,
    linear,
    rows_sum_to_zero,
    without_grad_output,
)
from veriformer.conformance_tests.operations.parts import agrees

_BOTH = (BIAS, SINKS)
_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes", least_keys=2, bias_shapes=MASK_SHAPES)
_OF_EACH_ENTRY = replace(_ANY, bias_shapes=("full",))
_SEVERAL = AttentionSpace(least_queries=2, least_keys=2, bias_shapes=MASK_SHAPES)
_OF_ANY_KEYS = replace(_SEVERAL, causal="sometimes")
_CAUSAL = replace(_SEVERAL, causal="always")
_SHORT = MASK_SHAPES[1:]
_ALL_TOGETHER = AttentionSpace(
    scale="always",
    softcap="always",
    mask="always",
    window="always",
    causal="sometimes",
    least_queries=3,
    least_keys=3,
    bias_shapes=MASK_SHAPES,
)


@judges("grad_bias", space=_ANY, operations=(BIAS,))
@judges("grad_sinks", space=_ANY, operations=(SINKS,))
@judges("explicit_scale", space=replace(_ANY, scale="always"), operations=_BOTH)
@judges("value_width", space=AttentionSpace(widths="unequal"), operations=_BOTH)
@judges(
    "large_logits",
    space=replace(_ANY, amplitudes=(10, 30), palettes=("integers", "normal", "offset")),
    operations=_BOTH,
)
@judges("mask.value", space=replace(_SEVERAL, mask="always"), operations=_BOTH)
@judges("causal.unequal_lengths", space=replace(_CAUSAL, lengths="unequal"), operations=_BOTH)
@judges("softcap.value", space=replace(_OF_ANY_KEYS, softcap="always", scale="sometimes"), operations=_BOTH)
@judges("window.value", space=replace(_OF_ANY_KEYS, window="always", mask="sometimes"), operations=_BOTH)
@judges(
    "bias.value",
    space=replace(_OF_ANY_KEYS, bias="always", mask="sometimes"),
    operations=(SINKS,),
)
@judges(
    "sinks.value",
    space=replace(_OF_ANY_KEYS, sinks="always", mask="sometimes", amplitudes=(1,)),
    operations=(BIAS,),
)
@judges("order_of_steps", space=replace(_ALL_TOGETHER, sinks="always"), operations=(BIAS,))
@judges("order_of_steps", space=replace(_ALL_TOGETHER, bias="always"), operations=(SINKS,))
def agrees_with_formula(trial: Trial[AdditionInputs]) -> Verdict:
    """The gradient is the formula's."""
    return agrees(trial, trial.inputs)


@judges("bias.shared_axes", space=replace(_SEVERAL, mask="sometimes", bias_shapes=_SHORT), operations=(BIAS,))
def sums_over_shared_axes(trial: Trial[AdditionInputs]) -> Verdict:
    """The expanded bias gets what the short one gets, before it is added up."""
    inputs = trial.inputs
    bias = present(inputs.bias)
    shape = (inputs.batch, inputs.heads, inputs.query_length, inputs.key_length)
    expanded = replace(inputs, bias=np.broadcast_to(bias, shape).copy())
    axes = shared_axes(bias.shape, len(shape))

    def added(_: str, part: Array) -> Array:
        # A sum is judged where all that it adds up is.
        whole = part.all(axis=axes) if part.dtype == bool else part.sum(axis=axes)
        return np.asarray(whole.reshape(bias.shape))

    return equal(trial, expanded, inputs, of_first=added)


@judges("rows.sum_to_zero", space=_OF_EACH_ENTRY, operations=(BIAS,))
def rows_of_bias_sum_to_zero(trial: Trial[AdditionInputs]) -> Verdict:
    """The gradients of the entries of each query sum to zero."""
    return rows_sum_to_zero(trial)


@judges("bias.shift", space=replace(_ANY, palettes=EXACT_PALETTES), operations=(BIAS,))
def shift(trial: Trial[AdditionInputs]) -> Verdict:
    """Two more in every entry of the bias change nothing."""
    inputs = trial.inputs
    return equal(trial, inputs, replace(inputs, bias=round_to_dtype(present(inputs.bias) + 2.0, inputs.dtype)))


@judges("bias.hidden_entry", space=AttentionSpace(least_keys=2, bias_shapes=MASK_SHAPES), operations=(BIAS,))
def hidden_entry(trial: Trial[AdditionInputs]) -> Verdict:
    """Where the bias hides the last key by −∞, its entries have no gradient, and the others that of the keys left."""
    inputs = trial.inputs
    bias = present(inputs.bias).copy()
    bias[..., -1] = -np.inf
    return agrees(trial, replace(inputs, bias=bias))


@judges("single_key", space=AttentionSpace(keys=1, bias_shapes=MASK_SHAPES), operations=(BIAS,))
def single_key(trial: Trial[AdditionInputs]) -> Verdict:
    """Where there is nothing to choose from, nothing flows back."""
    return _nothing(trial, trial.inputs)


@judges("values.equal", space=_ANY, operations=(BIAS,))
def equal_values(trial: Trial[AdditionInputs]) -> Verdict:
    """Equal values leave the bias without a gradient."""
    value = present(trial.inputs.value)
    return _nothing(trial, replace(trial.inputs, value=np.broadcast_to(value[:, :, :1], value.shape).copy()))


@judges("values.zero", space=_ANY, operations=(SINKS,))
def no_values(trial: Trial[AdditionInputs]) -> Verdict:
    """Values of zero leave the sinks without a gradient."""
    return _nothing(trial, replace(trial.inputs, value=np.zeros_like(present(trial.inputs.value))))


@judges("sinks.negligible", space=replace(_ANY, amplitudes=(1,)), operations=(SINKS,))
def negligible(trial: Trial[AdditionInputs]) -> Verdict:
    """Sinks so far below the logits that they take no weight have no gradient."""
    sinks = np.full_like(present(trial.inputs.sinks), -1e4)
    return agrees(trial, replace(trial.inputs, sinks=sinks))


def _nothing(trial: Trial[AdditionInputs], inputs: AdditionInputs) -> Verdict:
    """Judge whether nothing has a gradient."""
    received = trial.output(inputs)
    judged = trial.expected(inputs).judged
    return trial.within(np.zeros(received.shape), received, lambda bound: bound(inputs), judged)


@judges("samples.sum", space=replace(_ANY, least_batch=2), operations=(SINKS,))
def samples_sum(trial: Trial[AdditionInputs]) -> Verdict:
    """The gradients of the first sample and of the others add up to those of all."""
    inputs = trial.inputs
    shares = inputs.take_samples(np.arange(1)), inputs.take_samples(np.arange(1, inputs.batch))
    return added_up(trial, shares, ("",))


@judges("sinks.per_head", space=replace(_ANY, least_heads=2), operations=(SINKS,))
def per_head(trial: Trial[AdditionInputs]) -> Verdict:
    """Heads in another order have their gradients in that order."""
    inputs = trial.inputs
    order = trial.permutation(inputs.heads)
    return equal(trial, inputs.take_heads(order), inputs, of_second=lambda _, part: part[order])


@judges("mask.hidden_entries", space=replace(_OF_EACH_ENTRY, mask="always"), operations=(BIAS,))
@judges("causal.hidden_entries", space=replace(_CAUSAL, bias_shapes=("full",)), operations=(BIAS,))
def hidden_entries(trial: Trial[AdditionInputs]) -> Verdict:
    """The entries of keys that a query may not see are zero, to the last bit."""
    inputs = trial.inputs
    received, judged = trial.output(inputs), trial.expected(inputs).judged
    hidden = ~inputs.visible(trial.conventions)
    wanted = np.where(hidden, 0.0, received)
    return trial.within(wanted, received, lambda bound: bound(inputs), judged & hidden, may_be_nan=False)


@judges(
    "mask.empty_row",
    space=replace(
        _SEVERAL, mask="always", mask_kinds=("empty_rows",), mask_shapes=("full", "lengths", "shared_by_heads")
    ),
    operations=_BOTH,
)
def empty_row(trial: Trial[AdditionInputs]) -> Verdict:
    """A query without a visible key adds nothing, where its output is zero."""
    inputs = trial.inputs
    if inputs.sinks is not None:
        return agrees(trial, inputs)
    return agrees_at_empty_rows(trial, inputs, inputs.empty_rows(trial.conventions))


@judges("batch.independence", space=replace(_OF_EACH_ENTRY, least_batch=2), operations=(BIAS,))
def batch_independence(trial: Trial[AdditionInputs]) -> Verdict:
    """The last sample's own bias has the same gradient in a batch with other content."""
    last = np.s_[-1:]
    return equal(
        trial, trial.inputs, _others_changed(trial.inputs, last), lambda _, part: part[last], lambda _, part: part[last]
    )


@judges("heads.independence", space=replace(_OF_EACH_ENTRY, least_heads=2), operations=_BOTH)
def head_independence(trial: Trial[AdditionInputs]) -> Verdict:
    """The last head's own bias, or its sink, has the same gradient among heads with other content."""

    def last(_: str, part: Array) -> Array:
        return part[:, -1:] if trial.inputs.operation == BIAS else part[-1:]

    return equal(trial, trial.inputs, _others_changed(trial.inputs, np.s_[:, -1:]), last, last)


def _others_changed(inputs: AdditionInputs, kept: tuple[slice, ...] | slice) -> AdditionInputs:
    """Return inputs with other contents everywhere but at `kept`; the shapes stay, so nothing is compiled."""

    def changed(array: Array) -> Array:
        other = 2.0 - array
        other[kept] = array[kept]
        return round_to_dtype(other, inputs.dtype)

    arrays: dict[str, Any] = {
        name: changed(present(getattr(inputs, name))) for name in ("query", "key", "value", "grad_output")
    }
    return replace(inputs, **arrays)


@judges(
    "queries.permutation",
    space=AttentionSpace(mask="sometimes", least_queries=2, bias_shapes=("full", "lengths", "keys_only")),
    operations=_BOTH,
)
def query_permutation(trial: Trial[AdditionInputs]) -> Verdict:
    """Queries in another order have their gradients in that order; what all share stays."""
    order = trial.permutation(trial.inputs.query_length)
    return equal(trial, trial.inputs.take_queries(order), trial.inputs, of_second=_reordered(trial.inputs, order, -2))


@judges(
    "keys.permutation",
    space=AttentionSpace(mask="sometimes", least_keys=2, bias_shapes=MASK_SHAPES),
    operations=_BOTH,
)
def key_permutation(trial: Trial[AdditionInputs]) -> Verdict:
    """Keys and values in another order have the gradients of their entries in that order."""
    order = trial.permutation(trial.inputs.key_length)
    return equal(trial, trial.inputs.take_keys(order), trial.inputs, of_second=_reordered(trial.inputs, order, -1))


def _reordered(inputs: AdditionInputs, order: Array, axis: int) -> Selection:
    def reordered(_: str, part: Array) -> Array:
        if inputs.operation == SINKS or part.shape[axis] == 1:
            return part
        return np.take(part, order, axis=axis)

    return reordered


judges("grad_output.linear", space=replace(_ANY, palettes=EXACT_PALETTES), operations=_BOTH)(linear)
judges("grad_output.zero", space=_ANY, operations=_BOTH)(without_grad_output)
# Judged as of the gradients of queries and keys, with biases of every shape.
judges(
    "mask.masked_content",
    space=replace(_SEVERAL, mask="always", mask_kinds=("padding", "left_padding")),
    operations=_BOTH,
)(masks.masked_content)
judges(
    "mask.broadcast",
    space=AttentionSpace(mask="always", mask_shapes=_SHORT, least_batch=2, least_heads=2, least_keys=2),
    operations=_BOTH,
)(masks.broadcast)
judges("causal.empty_row", space=_CAUSAL, operations=(BIAS,))(masks.causal_empty_row)
judges(
    "causal.with_padding",
    space=replace(_CAUSAL, mask="always", mask_kinds=("random", "padding")),
    operations=_BOTH,
)(masks.with_padding)
judges("causal.explicit_mask", space=_CAUSAL, operations=_BOTH)(masks.explicit_mask)
