"""The families of the gradients of a bias and of sinks: a forward pass with its own decisions, and what comes after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array, shared_axes
from veriformer.conformance_tests.operations.attention.variants.softmax import exponentials_of
from veriformer.conformance_tests.operations.attention_backward.recomputed import (
    RECOMPUTED,
    RECOMPUTED_WEIGHTS,
    WRONG,
    Passed,
    recomputed,
)
from veriformer.conformance_tests.operations.attention_backward.variants import GRADIENT_OF_LOGITS
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

_NOT_SUMMED = "attention_bias_gradient_not_summed"
_LEFT_OUT = "sink_left_out_of_backward_denominator"
_SCALED = "scale_in_gradient_of_addition"
_CAPPED = "softcap_slope_in_gradient_of_addition"


def _nan_rows(grad_logits: Array, passed: Passed) -> Array:
    """Return gradients of logits; what is not a number in a row spoils the whole row."""
    return np.asarray(grad_logits + 0.0 * passed.weights.sum(axis=-1, keepdims=True))


def _slope(passed: Passed, softcap: float | None) -> Array | float:
    return reference.soft_cap_slope(passed.products, softcap) if softcap else 1.0


FACTOR_OF_BIAS = Decision(
    "factor_of_bias",
    "By what is dS multiplied on its way to the bias?",
    (
        standard("nothing", lambda passed, factor, softcap: 1.0),
        mistake(_SCALED, lambda passed, factor, softcap: factor),
        mistake(_CAPPED, lambda passed, factor, softcap: _slope(passed, softcap)),
        neighbour(
            "scale_and_slope",
            lambda passed, factor, softcap: factor * _slope(passed, softcap),
            "the gradient of the bias is multiplied by the scale and by the slope of the soft cap",
        ),
        neighbour("opposite", lambda *_: -1.0, "the gradient of the bias has the opposite sign"),
    ),
)


@dataclass(frozen=True)
class _Shared:
    """Gradients of all entries, and the axes that the bias shares."""

    entries: Array
    axes: tuple[int, ...]

    def summed(self, *skipped: int) -> Array:
        """Return the sum over the shared axes; of those that are skipped, the first entry."""
        kept = self.entries
        for axis in skipped:
            if axis in self.axes:
                kept = np.take(kept, [0], axis=axis)
        return np.asarray(kept.sum(axis=self.axes, keepdims=True))

    def last(self, axis: int) -> Array:
        """Return the sum over the shared axes; of one of them, the last entry."""
        kept = np.take(self.entries, [-1], axis=axis) if axis in self.axes else self.entries
        return np.asarray(kept.sum(axis=self.axes, keepdims=True))

    def averaged(self, *over: int) -> Array:
        """Return the sum over the shared axes divided by the lengths of some of them, or of all if none is named."""
        count = np.prod([self.entries.shape[axis] for axis in self.axes if axis in over or not over])
        return np.asarray(self.summed() / count)


SHARED_AXES = Decision(
    "shared_axes",
    "What is done with the gradients of those that share an entry of the bias?",
    (
        standard("summed", lambda shared: shared.summed()),
        mistake(_NOT_SUMMED, lambda shared: shared.summed(0), "first_sample"),
        mistake(_NOT_SUMMED, lambda shared: shared.summed(1), "first_head"),
        mistake(_NOT_SUMMED, lambda shared: shared.summed(2), "first_query"),
        mistake(_NOT_SUMMED, lambda shared: shared.summed(0, 1), "first_sample_and_head"),
        mistake(_NOT_SUMMED, lambda shared: shared.summed(0, 1, 2), "first_of_all"),
        mistake(_NOT_SUMMED, lambda shared: shared.last(0), "last_sample"),
        mistake(_NOT_SUMMED, lambda shared: shared.last(1), "last_head"),
        mistake(_NOT_SUMMED, lambda shared: shared.last(2), "last_query"),
        mistake(_NOT_SUMMED, lambda shared: shared.averaged(), "mean"),
        mistake(_NOT_SUMMED, lambda shared: shared.averaged(0), "mean_of_samples"),
        mistake(_NOT_SUMMED, lambda shared: shared.averaged(1), "mean_of_heads"),
        mistake(_NOT_SUMMED, lambda shared: shared.averaged(2), "mean_of_queries"),
        mistake("attention_bias_gradient_dropped", lambda shared: 0.0 * shared.summed(), "zero"),
    ),
)


def _nan(passed: Passed, reached: Array) -> Array:
    empty = ~passed.visible.any(axis=-1, keepdims=True)
    return np.where(empty, np.nan, reached)


EMPTY_ROWS = Decision(
    "empty_rows",
    "What does a query add that may see no key?",
    (
        standard("zeros", lambda passed, entries: entries),
        mistake("nan_gradient_fully_masked", _nan),
    ),
    convention="empty_row",
)


def of_bias(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of the bias at a point of the family."""
    shape = arguments["bias"].shape
    arguments = point["causal_beside_mask"](arguments)
    if arguments.get("bias") is None:
        return np.zeros(shape)
    factor = point["scale"](arguments.get("scale"), arguments["query"], arguments["key"])
    passed = recomputed(arguments, factor, point)
    entries = _nan_rows(point["gradient_of_logits"](passed), passed)
    entries = entries * point["factor_of_bias"](passed, factor, arguments.get("softcap"))
    entries = point["empty_rows"](passed, entries)
    return np.asarray(point["shared_axes"](_Shared(entries, shared_axes(shape, entries.ndim))).reshape(shape))


@dataclass(frozen=True)
class _BesideSink:
    """The weights of keys and sinks, (B, H, L, S) and (B, H, L), the averages D, and what the sinks are."""

    passed: Passed
    sinks: Array
    of_sink: Array

    @property
    def average(self) -> Array:
        """D, the average of the gradients of the weights."""
        return np.asarray(self.passed.own_average[..., 0])

    @property
    def keys_alone(self) -> Array:
        """The weights of the keys without the sink, 0 in rows without a key."""
        exponentials = exponentials_of(self.passed.logits, self.passed.visible)
        total = exponentials.sum(axis=-1, keepdims=True)
        return np.asarray(exponentials / np.where(total == 0.0, 1.0, total))

    @property
    def average_of_keys_alone(self) -> Array:
        """D of the weights without the sink."""
        return np.asarray((self.keys_alone * self.passed.shown_grad_weights).sum(axis=-1))

    @property
    def against_nothing(self) -> Array:
        """e^σ over the sum of the keys' exponentials alone, infinite where there are none."""
        seen = self.passed.visible.any(axis=-1)
        return np.where(seen, self.against_keys_alone, np.inf)

    @property
    def against_keys_alone(self) -> Array:
        """The same, 1 where there are none."""
        shown = np.where(self.passed.visible, self.passed.logits, -np.inf)
        highest = shown.max(axis=-1, initial=-np.inf)
        empty = np.isneginf(highest)
        total = exponentials_of(self.passed.logits, self.passed.visible).sum(axis=-1)
        with np.errstate(over="ignore"):
            relative = np.exp(self.sinks[:, None] - np.where(empty, 0.0, highest))
        return np.where(empty, 1.0, relative / np.where(total == 0.0, 1.0, total))


def _usual(beside: _BesideSink) -> Array:
    return np.asarray(-beside.of_sink * beside.average)


GRADIENT_OF_SINK = Decision(
    "gradient_of_sink",
    "What does a query add to the gradient of its head's sink?",
    (
        standard("weight_times_average", _usual),
        mistake("sink_gradient_dropped", lambda beside: 0.0 * _usual(beside)),
        mistake(_LEFT_OUT, lambda beside: -beside.of_sink * beside.average_of_keys_alone, "average_of_keys_alone"),
        mistake(_LEFT_OUT, lambda beside: -beside.against_keys_alone * beside.average_of_keys_alone, "keys_alone"),
        mistake(_LEFT_OUT, lambda beside: -beside.against_keys_alone * beside.average, "sink_against_keys_alone"),
        mistake(_LEFT_OUT, lambda beside: -beside.against_nothing * beside.average_of_keys_alone, "over_keys_alone"),
        mistake(_LEFT_OUT, lambda beside: -beside.against_nothing * beside.average, "sink_over_keys_alone"),
        mistake("sink_gradient_sign", lambda beside: -_usual(beside)),
        mistake("sink_gradient_not_weighted", lambda beside: -beside.average),
        neighbour(
            "keys_weight",
            lambda beside: -(1.0 - beside.of_sink) * beside.average,
            "the gradient of a sink has the weight of all keys in place of the sink's",
        ),
        neighbour("weight_alone", lambda beside: -beside.of_sink, "the gradient of a sink is minus its weight alone"),
        neighbour(
            "weight_of_keys_too",
            lambda beside: (1.0 - beside.of_sink) * _usual(beside),
            "the gradient of a sink is multiplied by the weight of all keys once more",
        ),
        neighbour(
            "weight_squared",
            lambda beside: beside.of_sink * _usual(beside),
            "the gradient of a sink has the sink's weight twice",
        ),
    ),
)
FACTOR_OF_SINKS = Decision(
    "factor_of_sinks",
    "By what is it multiplied?",
    (
        standard("nothing", lambda factor, shape: 1.0),
        mistake(_SCALED, lambda factor, shape: factor),
        mistake(WRONG, lambda factor, shape: 1.0 / shape[0], "over_batch"),
        mistake(WRONG, lambda factor, shape: 1.0 / shape[2], "over_queries"),
        mistake(WRONG, lambda factor, shape: 1.0 / (shape[0] * shape[2]), "over_batch_and_queries"),
    ),
)
_SINK_NOT_SUMMED = "sink_gradient_not_summed"
SUM_OF_SINKS = Decision(
    "sum_of_sinks",
    "What is added up?",
    (
        standard("samples_and_queries", lambda rows: rows.sum(axis=(0, 2))),
        mistake(_SINK_NOT_SUMMED, lambda rows: rows[0].sum(axis=-1), "first_sample"),
        mistake(_SINK_NOT_SUMMED, lambda rows: rows[-1].sum(axis=-1), "last_sample"),
        mistake(_SINK_NOT_SUMMED, lambda rows: rows[..., 0].sum(axis=0), "first_query"),
        mistake(_SINK_NOT_SUMMED, lambda rows: rows[..., -1].sum(axis=0), "last_query"),
        neighbour(
            "all_heads",
            lambda rows: np.full(rows.shape[1], rows.sum()),
            "every sink gets the gradients of all heads",
        ),
    ),
)


def of_sinks(arguments: Arguments, point: Point) -> Array:
    """Return the gradients of the sinks at a point of the family."""
    arguments = point["causal_beside_mask"](arguments)
    factor = point["scale"](arguments.get("scale"), arguments["query"], arguments["key"])
    passed = recomputed(arguments, factor, point)
    beside = _BesideSink(passed, arguments["sinks"], _weight_of_sink(passed, arguments["sinks"], point))
    rows = point["gradient_of_sink"](beside) + 0.0 * passed.weights.sum(axis=-1)
    rows = rows * point["factor_of_sinks"](factor, rows.shape)
    return np.asarray(point["sum_of_sinks"](rows))


def _weight_of_sink(passed: Passed, sinks: Array, point: Point) -> Array:
    """Return the weight of each query's sink: what the keys leave, which of right weights is known to every digit."""
    if point.option("sinks").status != "standard":
        return np.asarray(1.0 - passed.weights.sum(axis=-1))
    return reference.weights_of_sinks(passed.logits, passed.visible, sinks)


# A sink that is left out of the weights is a decision about its own gradient here.
_RECOMPUTED = tuple(one.without(_LEFT_OUT) if one.name == "sinks" else one for one in RECOMPUTED)
BIAS_BACKWARD = Family(
    "attention_bias_backward",
    (*RECOMPUTED, RECOMPUTED_WEIGHTS, GRADIENT_OF_LOGITS, FACTOR_OF_BIAS, EMPTY_ROWS, SHARED_AXES),
    of_bias,
    needs_dtype=True,
)
SINKS_BACKWARD = Family(
    "attention_sinks_backward",
    (*_RECOMPUTED, GRADIENT_OF_SINK, FACTOR_OF_SINKS, SUM_OF_SINKS),
    of_sinks,
    needs_dtype=True,
)
