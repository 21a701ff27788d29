"""Decisions from logits to the output: softmax, rows without a key, sinks, the average of the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import NotDefined
from veriformer.conformance_tests.variants.precision import HALVES, in_range, rounded_to

# From logits, what is visible, the convention of empty rows, and the dtype of the call.
Weights = Callable[[Array, Array, Any, str], Array]


def _over(axis: int, empty: Any = None) -> Weights:
    """Return the softmax over another axis; `empty` gives the result where nothing on it is visible."""

    def softmax(logits: Array, visible: Array, empty_row: Any, *_: Any) -> Array:
        moved, shown = (np.moveaxis(table, axis, -1) for table in (logits, visible))
        return np.moveaxis(reference.masked_softmax(moved, shown, empty or empty_row), -1, axis)

    return softmax


def _summed_over(axis: int) -> Weights:
    """Return exponentials relative to each row's largest, divided by their sums over another axis."""

    def softmax(logits: Array, visible: Array, *_: Any) -> Array:
        exponentials = exponentials_of(logits, visible)
        total = exponentials.sum(axis=axis, keepdims=True)
        return np.asarray(exponentials / np.where(total == 0.0, 1.0, total))

    return softmax


def exponentials_of(logits: Array, visible: Array) -> Array:
    """Return e to the visible logits relative to each row's largest; 0 at the hidden ones."""
    shown = np.where(visible, logits, -np.inf)
    highest = shown.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.asarray(np.exp(shown - np.where(np.isneginf(highest), 0.0, highest)))


def _not_shifted(computed_in: str, *, divides_by_zero: bool) -> Weights:
    """Return e^z / Σ e^z without subtracting the largest logit, where numbers leave the range of a dtype."""

    def softmax(logits: Array, visible: Array, _: Any, dtype: str) -> Array:
        exponentials = in_range(np.where(visible, np.exp(logits), 0.0), computed_in or dtype)
        total = in_range(exponentials.sum(axis=-1, keepdims=True), computed_in or dtype)
        return np.asarray(exponentials / (total if divides_by_zero else np.where(total == 0.0, 1.0, total)))

    return softmax


NOT_SHIFTED = tuple(
    mistake(
        "softmax_no_max_subtraction",
        _not_shifted(dtype, divides_by_zero=divides),
        f"not_shifted{dtype and '_in_'}{dtype}{'_divided_by_zero' if divides else ''}",
    )
    for dtype in ("", "float32", "float64")
    for divides in (False, True)
)


def _clipped(distance: float) -> Weights:
    """Return weights of logits lifted to some distance below the largest; hidden ones are as far as any."""

    def softmax(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        shown = np.where(visible, logits, -np.inf)
        highest = shown.max(axis=-1, keepdims=True, initial=-np.inf)
        empty = np.isneginf(highest)
        lifted = np.maximum(shown - np.where(empty, 0.0, highest), -distance)
        return reference.masked_softmax(lifted, np.broadcast_to(~empty, visible.shape), empty_row)

    return softmax


def _clipped_where_visible(distance: float) -> Weights:
    def softmax(logits: Array, visible: Array, empty_row: Any, _: str) -> Array:
        highest = np.where(visible, logits, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
        return reference.masked_softmax(np.maximum(logits, highest - distance), visible, empty_row)

    return softmax


def _centred_over_batch(logits: Array, visible: Array, empty_row: Any, *_: Any) -> Array:
    """Return the softmax of logits less their mean over the batch, where that is a number."""
    shown = np.where(visible, logits, -np.inf)
    mean = np.nan_to_num(shown.mean(axis=0, keepdims=True), nan=0.0, posinf=0.0, neginf=0.0)
    return reference.masked_softmax(logits - mean, visible, empty_row)


def _centred_before_mask(logits: Array, visible: Array, empty_row: Any, *_: Any) -> Array:
    return reference.masked_softmax(logits - logits.mean(axis=0, keepdims=True), visible, empty_row)


def _with_one_more(logits: Array, visible: Array, *_: Any) -> Array:
    exponentials = exponentials_of(logits, visible)
    return np.asarray(exponentials / (1.0 + exponentials.sum(axis=-1, keepdims=True)))


def _rounded_weights(dtype: str) -> Weights:
    return lambda logits, visible, empty_row, _: rounded_to(dtype, reference.masked_softmax(logits, visible, empty_row))


def _not_normalised(logits: Array, visible: Array, *_: Any) -> Array:
    return np.where(visible, np.exp(logits), 0.0)


def _mean_of_visible(logits: Array, visible: Array, empty_row: Any, *_: Any) -> Array:
    return reference.masked_softmax(np.zeros(logits.shape), visible, empty_row)


def _logits_themselves(logits: Array, visible: Array, *_: Any) -> Array:
    return np.where(visible, logits, 0.0)


# Where e to the distance is still far above what rounding leaves.
_DISTANCES = (10.0, 20.0)

SOFTMAX = Decision(
    "softmax",
    "How do logits become weights?",
    (
        standard(
            "over_keys", lambda logits, visible, empty_row, _: reference.masked_softmax(logits, visible, empty_row)
        ),
        mistake("softmax_wrong_axis", _over(-2, "zeros"), "over_queries"),
        mistake("softmax_wrong_axis", _over(-2, "nan"), "over_queries_nan"),
        mistake("softmax_wrong_axis", _over(1, "zeros"), "over_heads"),
        mistake("softmax_wrong_axis", _over(1, "nan"), "over_heads_nan"),
        mistake("softmax_wrong_axis", _over(0, "zeros"), "over_batch"),
        mistake("softmax_wrong_axis", _over(0, "nan"), "over_batch_nan"),
        mistake("softmax_wrong_axis", _summed_over(-2), "summed_over_queries"),
        mistake("softmax_wrong_axis", _summed_over(1), "summed_over_heads"),
        *NOT_SHIFTED,
        *(mistake("far_logits_clipped", _clipped(at), f"clipped_at_{at:g}") for at in _DISTANCES),
        *(
            mistake("far_logits_clipped", _clipped_where_visible(at), f"clipped_where_visible_at_{at:g}")
            for at in _DISTANCES
        ),
        mistake("statistics_of_the_batch", _centred_over_batch, "centred_over_batch"),
        mistake("statistics_of_the_batch", _centred_before_mask, "centred_over_batch_before_mask"),
        mistake("normaliser_with_one_more", _with_one_more, "one_more_after_the_maximum"),
        *(mistake("weights_rounded_to_half", _rounded_weights(dtype), f"weights_in_{dtype}") for dtype in HALVES),
        neighbour("not_normalised", _not_normalised, "exponentials are not divided by their sum"),
        neighbour("logits_themselves", _logits_themselves, "the logits are the weights: there is no softmax"),
        neighbour("mean_of_visible", _mean_of_visible, "every visible key gets the same weight"),
    ),
)


def _value_of_convention(*_: Any) -> None:
    """A placeholder for an option of which only the name matters."""


EMPTY_ROW = Decision(
    "empty_row",
    "What is the output of a query that may see no key?",
    (
        standard("zeros", _value_of_convention, "fully_masked_row_not_zero"),
        convention("nan", _value_of_convention, "fully_masked_row_nan"),
        convention("mean_of_values", _value_of_convention, "fully_masked_row_not_zero"),
    ),
    convention="empty_row",
)


@dataclass(frozen=True)
class BesideSinks:
    """The ingredients of weights with sinks; `cap` is that of the logits, `group` the query heads of a group. `softmax`
    makes weights from logits and their visibility.
    """

    logits: Array
    visible: Array
    sinks: Array
    factor: float
    cap: Callable[[Array], Array]
    group: int
    softmax: Callable[[Array, Array], Array]

    def weights(self, sinks: Array | None = None) -> Array:
        """Return the weights of the keys with sinks, these or others: every head has one more logit, of no key."""
        visible = np.concatenate([self.visible, np.ones_like(self.visible[..., :1])], axis=-1)
        return self.softmax(self.with_column(self.sinks if sinks is None else sinks), visible)[..., :-1]

    def with_column(self, sinks: Array) -> Array:
        """Return the logits of the keys followed by those of the sinks."""
        column = np.broadcast_to(sinks[:, None, None], (*self.logits.shape[:-1], 1))
        return np.concatenate([self.logits, column], axis=-1)


def _renormalised(beside: BesideSinks) -> Array:
    return beside.softmax(beside.logits, beside.visible)


def _renormalised_guarded(least: float) -> Callable[[BesideSinks], Array]:
    """Return weights divided by their sum, or by a small number where the sink left less than that."""

    def weights(beside: BesideSinks) -> Array:
        kept = beside.weights()
        return np.asarray(kept / np.maximum(kept.sum(axis=-1, keepdims=True), least))

    return weights


def _tiled(beside: BesideSinks) -> Array:
    return beside.weights(np.tile(beside.sinks[:: beside.group], beside.group))


def _mean_in_empty_rows(beside: BesideSinks) -> Array:
    empty = ~beside.visible.any(axis=-1, keepdims=True)
    return replace(beside, logits=np.where(empty, 0.0, beside.logits), visible=beside.visible | empty).weights()


def _hidden_one_key_late(beside: BesideSinks) -> Array:
    """Put the sink's place in the mask in front of the keys' and its logit behind them."""
    logits = beside.with_column(beside.sinks)
    # What a bias of −∞ hides is hidden by the logit itself.
    by_mask = beside.visible | np.isneginf(beside.logits)
    visible = np.concatenate([np.ones_like(by_mask[..., :1]), by_mask], axis=-1)
    return beside.softmax(logits, visible & ~np.isneginf(logits))[..., :-1]


def _added_unshifted(beside: BesideSinks) -> Array:
    exponentials = exponentials_of(beside.logits, beside.visible)
    return np.asarray(exponentials / (exponentials.sum(axis=-1, keepdims=True) + np.exp(beside.sinks)[:, None, None]))


def _added_without_exponential(beside: BesideSinks) -> Array:
    exponentials = exponentials_of(beside.logits, beside.visible)
    return np.asarray(exponentials / (exponentials.sum(axis=-1, keepdims=True) + beside.sinks[:, None, None]))


def _clamped(least: float) -> Callable[[BesideSinks], Array]:
    return lambda beside: beside.weights(np.maximum(beside.sinks, least))


SINKS = Decision(
    "sinks",
    "How does a sink take weight?",
    (
        standard("a_logit_more", lambda beside: beside.weights()),
        mistake("sink_scaled", lambda beside: beside.weights(beside.sinks * beside.factor)),
        mistake("sink_capped", lambda beside: beside.weights(beside.cap(beside.sinks))),
        mistake("sink_of_one_head_for_all", lambda beside: beside.weights(np.full_like(beside.sinks, beside.sinks[0]))),
        mistake("grouped_sinks_tiled", _tiled),
        mistake("sink_renormalised_away", _renormalised),
        mistake("zero_attn_mask_not_extended", _hidden_one_key_late),
        *(
            mistake("sink_renormalised_away", _renormalised_guarded(least), f"renormalised_from_{least:g}")
            for least in (1e-30, 1e-12, 1e-9, 1e-6)
        ),
        *(mistake("sink_never_negligible", _clamped(least), f"at_least_{least:g}") for least in (-10.0, -4.0, 0.0)),
        mistake("empty_row_mean_beside_sinks", _mean_in_empty_rows),
        neighbour(
            "always_zero", lambda beside: beside.weights(0.0 * beside.sinks), "every sink is 0: softmax plus one"
        ),
        neighbour("negated", lambda beside: beside.weights(-beside.sinks), "the sinks have the opposite sign"),
        neighbour(
            "not_relative_to_largest",
            _added_unshifted,
            "the largest logit is subtracted from logits, not from the sink",
        ),
        neighbour(
            "not_exponentiated", _added_without_exponential, "the sink, not its exponential, is added to the sum"
        ),
    ),
)


def _without_last_component(output: Array, *_: Array) -> Array:
    width = output.shape[-1]
    return np.where(np.arange(width) < max(1, width - 1), output, 0.0)


def _weights_transposed(output: Array, weights: Array, value: Array) -> Array:
    if weights.shape[-1] != weights.shape[-2]:
        raise NotDefined
    return np.asarray(weights.swapaxes(-1, -2) @ value)


OUTPUT = Decision(
    "output",
    "What is returned of the average of the values?",
    (
        standard("all", lambda output, *_: output),
        mistake("last_value_component_dropped", _without_last_component),
        neighbour("weights_transposed", _weights_transposed, "the values are weighted by queries instead of keys"),
    ),
)
