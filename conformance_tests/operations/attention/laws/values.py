"""Scale, values, and keys without a mask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Bound, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.multi_head.inputs import MultiHeadInputs

_MULTI_HEAD = ("multi_head_attention",)


@judges("scale", space=AttentionSpace(least_width=2, least_keys=2, also_causal=True))
@judges(
    "explicit_scale",
    # One that is forgotten where another is given is seen only where both are.
    space=AttentionSpace(scale="always", mask="sometimes", causal="sometimes", least_keys=2, also_causal=True),
)
@judges("value_width", space=AttentionSpace(widths="unequal", also_causal=True))
@judges("single_query", space=AttentionSpace(queries=1, least_keys=2, also_causal=True))
@judges(
    "bias.value",
    space=AttentionSpace(
        bias="always", scale="sometimes", causal="sometimes", least_keys=2, least_width=2, also_causal=True
    ),
)
@judges(
    "large_logits",
    space=AttentionSpace(amplitudes=(10, 30), palettes=("integers", "normal", "offset"), also_causal=True),
)
def agrees_with_formula(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("scale.range", space=AttentionSpace(amplitudes=(4,), palettes=("integers",), least_keys=2))
def scale_range(trial: Trial[AttentionInputs]) -> Verdict:
    """The scale makes up for queries and keys that are too large to be multiplied in 16 bits; all is powers of two."""
    inputs = trial.inputs
    return trial.agrees(replace(inputs, query=2.0**5 * inputs.query, key=2.0**5 * inputs.key, scale=2.0**-12))


@judges("single_key", space=AttentionSpace(keys=1))
def single_key(trial: Trial[AttentionInputs]) -> Verdict:
    """With one key every query returns its value."""
    inputs = trial.inputs
    expected = trial.expected(inputs)
    values = np.ones(expected.value.shape)
    if inputs.value is not None:
        values = np.broadcast_to(np.repeat(inputs.value, inputs.group_size, axis=1), expected.value.shape)
    return compare(values, trial.output(inputs), expected.allowed)


@judges("single_key", space=AttentionSpace(keys=1), operations=_MULTI_HEAD)
def single_context(trial: Trial[MultiHeadInputs]) -> Verdict:
    """With one context position every query returns its projected value."""
    return trial.equal(trial.inputs, replace(trial.inputs, x=trial.inputs.x * 0.0))


@judges("values.hull", space=AttentionSpace(mask="sometimes", causal="sometimes", least_keys=2))
def hull(trial: Trial[AttentionInputs]) -> Verdict:
    """Every output lies between the smallest and largest visible value, component by component."""
    inputs = trial.inputs
    output, expected = trial.output(inputs), trial.expected(inputs)
    values = np.repeat(present(inputs.value), inputs.group_size, axis=1).swapaxes(-1, -2).copy()[..., None, :]
    hidden = np.where(inputs.visible(trial.conventions), 0.0, np.inf)[:, :, None]
    lowest = np.min(values + hidden, axis=-1).swapaxes(-1, -2)
    highest = np.max(values - hidden, axis=-1).swapaxes(-1, -2)
    nearest = np.clip(output, lowest, highest)
    return trial.within(nearest, output, lambda bound: bound(inputs), expected.judged, may_be_nan=False)


@judges("values.constant", space=AttentionSpace(mask="sometimes", causal="sometimes", least_keys=2))
def constant_values(trial: Trial[AttentionInputs]) -> Verdict:
    """Equal values are returned unchanged."""
    inputs: AttentionInputs = replace(trial.inputs, value=np.ones_like(present(trial.inputs.value)))
    expected = trial.expected(inputs)
    ones = np.ones(inputs.result_shape)
    return trial.within(ones, trial.output(inputs), lambda bound: bound(inputs), expected.judged)


@judges("values.linear", space=AttentionSpace(mask="sometimes", causal="sometimes", palettes=EXACT_PALETTES))
def linear_in_values(trial: Trial[AttentionInputs]) -> Verdict:
    """Twice the values minus other values give twice the output minus the other output."""
    inputs = trial.inputs
    value = present(inputs.value)
    # Small integers: their combination is exact in every dtype, so only the operation rounds.
    other = fill(trial.generator, value.shape, "integers")
    combined = replace(inputs, value=2.0 * value - other)
    others = replace(inputs, value=other)
    expected, output = 2.0 * trial.output(inputs) - trial.output(others), trial.output(combined)
    judged = trial.expected(inputs).judged

    def allowed(bound: Bound) -> Array:
        return np.asarray(2.0 * bound(inputs) + bound(others) + bound(combined))

    def loosest(given: Inputs) -> Array:
        return np.asarray(trial.allowed(given) + given.loosest_error(trial.conventions))

    verdict = trial.within(expected, output, allowed, judged, may_be_nan=False)
    # As in `Trial.equal`: a wrong mask must not make this law fail for rounding alone.
    return verdict if verdict.holds else compare(expected, output, allowed(loosest), judged, may_be_nan=False)


@judges("keys.equal", space=AttentionSpace(least_keys=2, least_queries=2))
def equal_keys(trial: Trial[AttentionInputs]) -> Verdict:
    """Equal keys do not distinguish values: each gets the weight 1/S."""
    inputs = trial.inputs
    inputs = replace(inputs, key=np.broadcast_to(inputs.key[:, :, :1], inputs.key.shape).copy())
    expected = trial.expected(inputs)
    average = np.full(expected.value.shape, 1.0 / inputs.key_length)
    if inputs.value is not None:
        means = np.repeat(inputs.value.mean(axis=2, keepdims=True), inputs.group_size, axis=1)
        average = np.broadcast_to(means, expected.value.shape)
    return trial.within(average, trial.output(inputs), lambda bound: bound(inputs))


@judges("keys.duplicated", space=AttentionSpace(bias="always", mask="sometimes", causal="never"))
def duplicated_key(trial: Trial[AttentionInputs]) -> Verdict:
    """Repeating the last key equals adding log 2 to its logits."""
    inputs: AttentionInputs = replace(trial.inputs, bias=None)
    keys = inputs.key_length
    twice = inputs.take_keys(np.append(np.arange(keys), keys - 1))
    bias = np.zeros((inputs.batch, inputs.heads, inputs.query_length, keys))
    bias[..., -1] = np.log(2.0)
    # A bias that the dtype cannot hold is rounded before the call; the exact result is that of the rounded one.
    biased = replace(inputs, bias=bias)
    results, rounded = (trial.output(twice), trial.output(biased)), _rounded_bias_error(biased, trial)
    judged = trial.expected(twice).judged
    return trial.within(*results, lambda bound: bound(twice) + bound(biased) + rounded, judged)


def _rounded_bias_error(inputs: AttentionInputs, trial: Trial[AttentionInputs | MultiHeadInputs]) -> np.ndarray:
    """Return how far rounding log 2 to the dtype moves the exact result."""
    rounded = replace(inputs, bias=round_to_dtype(present(inputs.bias), inputs.dtype))
    exact, moved = (trial.expected(given).value for given in (inputs, rounded))
    return np.asarray(np.abs(exact - moved))


@judges("keys.all_twice", space=AttentionSpace(mask="sometimes"))
def all_keys_twice(trial: Trial[AttentionInputs | MultiHeadInputs]) -> Verdict:
    """Repeating every key changes nothing."""
    keys = trial.inputs.key_length
    return trial.equal(trial.inputs, trial.inputs.take_keys(np.tile(np.arange(keys), 2)))


@judges("bias.row_shift", space=AttentionSpace(bias="always", palettes=EXACT_PALETTES, least_keys=2))
def bias_row_shift(trial: Trial[AttentionInputs]) -> Verdict:
    """Adding one number to a whole row of a bias changes nothing."""
    inputs = trial.inputs
    bias = present(inputs.bias)
    shift = trial.generator.integers(1, 5, (*bias.shape[:-1], 1)).astype(float)
    return trial.equal(inputs, replace(inputs, bias=bias + shift))


@judges(
    "nonnegative",
    space=AttentionSpace(mask="sometimes", causal="sometimes"),
    operations=("attention_weights",),
)
def nonnegative(trial: Trial[AttentionInputs]) -> Verdict:
    """No weight is negative."""
    output, judged = trial.output(trial.inputs), trial.expected(trial.inputs).judged
    return compare(np.maximum(output, 0.0), output, np.zeros(output.shape), judged, may_be_nan=False)


@judges(
    "rows_sum_to_one",
    space=AttentionSpace(mask="sometimes", causal="sometimes"),
    operations=("attention_weights",),
)
def rows_sum_to_one(trial: Trial[AttentionInputs]) -> Verdict:
    """The weights of each query sum to one."""
    sums = trial.output(trial.inputs).sum(axis=-1)
    expected = trial.expected(trial.inputs)
    return compare(np.ones(sums.shape), sums, expected.allowed.sum(axis=-1), expected.judged[..., 0])
