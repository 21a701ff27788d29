"""Decisions about the bias of the logits: when and how it is applied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import NotDefined

BIAS_HEEDED = Decision(
    "bias_heeded",
    "When is the bias heeded?",
    (
        standard("always", lambda bias, arguments: bias),
        mistake(
            "explicit_boundaries_overwritten_by_mask",
            lambda bias, arguments: None if arguments.get("mask") is not None else bias,
        ),
    ),
)


def _hidden_unless(visible: Callable[[Array], Array]) -> Callable[[Array, Array, str], Array]:
    return lambda logits, bias, _: np.where(visible(bias), logits, -np.inf)


def _read_as_half(logits: Array, bias: Array, dtype: str) -> Array:
    """Add the bytes of the bias read as numbers of 16 bits; NumPy has no bfloat16 to read."""
    if dtype not in ("float32", "float64"):
        raise NotDefined
    halves = np.ascontiguousarray(bias, dtype=dtype).view(np.float16)
    return np.asarray(logits + halves[..., : bias.shape[-1]].astype(np.float64))


BIAS = Decision(
    "bias",
    "What is done with the bias of the logits?",
    (
        standard("added", lambda logits, bias, _: logits + bias),
        mistake("float_mask_cast_to_bool", _hidden_unless(lambda bias: bias == 0)),
        mistake("mask_convention_mismatch_additive_vs_binary", _hidden_unless(lambda bias: bias != 0)),
        mistake(
            "float_padding_mask_treated_as_bool",
            lambda logits, bias, _: logits + np.where(np.isneginf(bias), 0.0, bias),
        ),
        mistake("mask_dtype_reinterpreted", _read_as_half),
        mistake("mask_of_first_sample", lambda logits, bias, _: logits + _first(bias, -4), "first_sample_for_all"),
        neighbour("ignored", lambda logits, *_: logits, "the bias is accepted and not used"),
        neighbour("subtracted", lambda logits, bias, _: logits - bias, "the bias is subtracted"),
        neighbour("multiplied", lambda logits, bias, _: logits * bias, "the logits are multiplied by the bias"),
        neighbour(
            "first_head_for_all", lambda logits, bias, _: logits + _first(bias, -3), "one head's bias serves all"
        ),
    ),
)


def _first(table: Array, axis: int) -> Array:
    """Return the first entry of an axis, the axis kept; the table itself where it has none."""
    return table if table.ndim < -axis else np.take(table, [0], axis=axis)
