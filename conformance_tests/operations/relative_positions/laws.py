"""Linear biases and relative buckets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.relative_positions.cases import AlibiSpace, BucketSpace
from veriformer.conformance_tests.operations.relative_positions.inputs import AlibiInputs, BucketInputs
from veriformer.conformance_tests.operations.softmax.bounds import disturbed, weight_error
from veriformer.conformance_tests.rounding.precision import Precision

_ALIBI, _BUCKET = ("alibi_bias",), ("relative_position_bucket",)


@judges("value", space=AlibiSpace(), operations=_ALIBI)
@judges("value", space=BucketSpace(), operations=_BUCKET)
def agrees_with_definition(trial: Trial[AlibiInputs | BucketInputs]) -> Verdict:
    """Every entry that is judged is that of the definition."""
    return trial.agrees()


@judges("slopes.geometric", space=AlibiSpace(heads="power_of_two", least_heads=2, least_length=2), operations=_ALIBI)
def geometric(trial: Trial[AlibiInputs]) -> Verdict:
    """Each head's bias is the one before times the first slope."""
    inputs = trial.inputs
    bias, expected = trial.output(inputs), trial.expected(inputs)
    ratio = 2.0 ** (-8.0 / inputs.num_heads)
    # Head −1 of the sequence would have the slope 1: the distance itself.
    before = np.concatenate((expected.value[:1] / ratio, bias[:-1]))
    allowed = ratio * np.concatenate((np.zeros_like(bias[:1]), expected.allowed[:-1])) + expected.allowed
    return compare(ratio * before, bias, 1.01 * allowed, expected.judged)


@judges("slopes.any_head_count", space=AlibiSpace(heads="other", least_length=2), operations=_ALIBI)
def any_head_count(trial: Trial[AlibiInputs]) -> Verdict:
    """The heads are those of the power of two below, and then every second one of twice as many."""
    inputs = trial.inputs
    power = 1 << (inputs.num_heads.bit_length() - 1)
    parts = [replace(inputs, num_heads=count) for count in (power, 2 * power)]
    few, many = (trial.output(part) for part in parts)
    errors = [trial.allowed(part) for part in parts]
    own = trial.expected(inputs)
    joined, error = (
        np.concatenate((one, other[::2][: inputs.num_heads - power])) for one, other in ((few, many), tuple(errors))
    )
    return compare(joined, trial.output(inputs), error + own.allowed, own.judged)


@judges("translation", space=AlibiSpace(least_length=2), operations=_ALIBI)
def translation(trial: Trial[AlibiInputs]) -> Verdict:
    """Along every diagonal the bias is the same."""
    inputs = trial.inputs
    bias, expected = trial.output(inputs), trial.expected(inputs)
    allowed = expected.allowed[:, :-1, :-1] + expected.allowed[:, 1:, 1:]
    return compare(bias[:, :-1, :-1], bias[:, 1:, 1:], allowed, expected.judged[:, 1:, 1:])


@judges("own_position", space=AlibiSpace(), operations=_ALIBI)
def own_position(trial: Trial[AlibiInputs]) -> Verdict:
    """On the diagonal that ends at the last key the bias is zero."""
    inputs = trial.inputs
    offset = inputs.key_length - inputs.query_length
    diagonal = np.diagonal(trial.output(inputs), offset, axis1=1, axis2=2)
    return compare(np.zeros(diagonal.shape), diagonal, np.zeros(diagonal.shape))


@judges("monotone", space=AlibiSpace(least_length=2), operations=_ALIBI)
def monotone(trial: Trial[AlibiInputs]) -> Verdict:
    """A nearer key has a larger bias than the one before it."""
    inputs = trial.inputs
    bias = trial.output(inputs)
    # A key that no query sees may have −∞.
    with np.errstate(invalid="ignore"):
        steps = np.diff(bias, axis=-1)
    larger = np.where(steps > 0.0, steps, np.broadcast_to(inputs.slopes[:, None, None], steps.shape))
    return compare(larger, steps, np.zeros(steps.shape), inputs.visible[..., 1:], note="differences along the keys")


@judges("last_queries", space=AlibiSpace(more_keys=True), operations=_ALIBI)
def last_queries(trial: Trial[AlibiInputs]) -> Verdict:
    """Fewer queries have the last rows of the square bias."""
    inputs = trial.inputs
    square = replace(inputs, query_length=inputs.key_length)
    first_row = inputs.key_length - inputs.query_length
    return trial.equal(square, inputs, of_first=lambda result: result[:, first_row:])


@judges("row_shift", space=AlibiSpace(least_length=2), operations=_ALIBI)
def row_shift(trial: Trial[AlibiInputs]) -> Verdict:
    """The causal softmax of the bias is that of slope times key position."""
    inputs = trial.inputs
    expected = trial.expected(inputs)
    by_key = inputs.slopes[:, None, None] * np.arange(inputs.key_length)
    logits = np.where(inputs.visible, by_key, -np.inf)
    allowed = weight_error(disturbed(logits, 2.0 * expected.allowed), Precision.of("float64"))
    wanted, got = (_causal_softmax(table, inputs.visible) for table in (by_key, trial.output(inputs)))
    return compare(wanted, got, allowed, inputs.visible, note="softmax over the visible keys")


def _causal_softmax(logits: Array, visible: Array) -> Array:
    shown = np.where(visible, logits, -np.inf)
    exponentials = np.exp(shown - shown.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


@judges("range", space=BucketSpace(), operations=_BUCKET)
def in_range(trial: Trial[BucketInputs]) -> Verdict:
    """No bucket is below zero or beyond the table."""
    inputs = trial.inputs
    buckets = trial.output(inputs)
    inside = np.clip(buckets, 0, (inputs.num_buckets or 0) - 1)
    return compare(inside, buckets, np.zeros(buckets.shape))


@judges("exact_when_near", space=BucketSpace(), operations=_BUCKET)
def exact_when_near(trial: Trial[BucketInputs]) -> Verdict:
    """Near distances are their own buckets, later keys' counted from N on."""
    inputs = trial.inputs
    near = np.sign(inputs.relative_position) * (np.abs(inputs.relative_position) % (inputs.one_direction // 2))
    moved = inputs.of(near)
    expected = moved.distance + _later(moved)
    return compare(expected, trial.output(moved), np.zeros(near.shape))


@judges("saturation", space=BucketSpace(), operations=_BUCKET)
def saturation(trial: Trial[BucketInputs]) -> Verdict:
    """From max_distance on everything is in the last bucket of its side."""
    inputs = trial.inputs
    drawn = inputs.relative_position
    far = np.where(drawn > 0, drawn, drawn - 1) + np.where(drawn > 0, 1, -1) * (inputs.max_distance or 0)
    moved = inputs.of(far if inputs.bidirectional else -np.abs(far))
    expected = inputs.one_direction - 1 + _later(moved)
    return compare(expected, trial.output(moved), np.zeros(far.shape))


def _later(inputs: BucketInputs) -> Array:
    """Return where the buckets of each entry's side begin."""
    begins = inputs.one_direction if inputs.bidirectional else 0
    return np.where(inputs.relative_position > 0, begins, 0)


@judges("monotone", space=BucketSpace(least_columns=2), operations=_BUCKET)
def buckets_rise(trial: Trial[BucketInputs]) -> Verdict:
    """Distances in rising order have buckets in rising order, on the side where all have some."""
    inputs = trial.inputs
    side = 1 if inputs.bidirectional and trial.generator.random() < 0.5 else -1
    sorted_distances = np.sort(np.abs(inputs.relative_position), axis=None)
    buckets = trial.output(inputs.of(side * sorted_distances))
    # Distance 0 belongs to the earlier keys' side.
    judged = sorted_distances > 0
    rising = np.maximum.accumulate(np.where(judged, buckets, buckets.min()))
    return compare(rising, buckets, np.zeros(buckets.shape), judged)


@judges("sides", space=BucketSpace(direction="both"), operations=_BUCKET)
def sides(trial: Trial[BucketInputs]) -> Verdict:
    """A later key's bucket is half of all buckets above that of the earlier key at the same distance."""
    inputs = trial.inputs
    later = inputs.of(np.abs(inputs.relative_position) + 1)
    earlier = later.of(-later.relative_position)
    expected = trial.output(earlier) + (inputs.num_buckets or 0) // 2
    judged = trial.expected(later).judged
    return compare(expected, trial.output(later), np.zeros(judged.shape), judged)


@judges("later_keys", space=BucketSpace(direction="one"), operations=_BUCKET)
def later_keys(trial: Trial[BucketInputs]) -> Verdict:
    """Later keys are all in bucket 0."""
    inputs = trial.inputs
    buckets = trial.output(inputs.of(np.abs(inputs.relative_position)))
    return compare(np.zeros(buckets.shape), buckets, np.zeros(buckets.shape))


@judges("elements.independence", space=BucketSpace(least_columns=2), operations=_BUCKET)
def elements(trial: Trial[BucketInputs]) -> Verdict:
    """In another shape and order every relative position keeps its bucket."""
    inputs = trial.inputs
    flat = inputs.relative_position.reshape(-1)
    order = trial.permutation(flat.size)
    return trial.equal(inputs, inputs.of(flat[order]), of_first=lambda result: result.reshape(-1)[order])
