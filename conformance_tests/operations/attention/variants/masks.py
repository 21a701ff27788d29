"""Decisions about which keys a query sees: masks and their use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, Option, harmless, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, NotDefined

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """Logits, the ones that softmax sees, and the factor of the weights after it."""

    logits: Array
    visible: Array
    gate: Array | None = None

    def showing(self, shown: Array) -> Scores:
        """Return scores with only some seen."""
        return replace(self, visible=self.visible & shown)

    def gated(self, gate: Array) -> Scores:
        """Return scores whose weights have one more factor."""
        return replace(self, gate=gate if self.gate is None else self.gate * gate)

    def changed(self, logits: Array) -> Scores:
        """Return scores with other logits."""
        return replace(self, logits=logits)


def _in_one_sample_ignored(sample: int) -> Callable[[Array, Arguments, Shape], Array]:
    def heeded(mask: Array, _: Arguments, shape: Shape) -> Array:
        table = np.broadcast_to(mask, shape).copy()
        table[sample] = True
        return table

    return heeded


def _unless(dropped: Callable[[Array, Arguments], bool]) -> Callable[[Array, Arguments, Shape], Array | None]:
    return lambda mask, arguments, _: None if dropped(mask, arguments) else mask


def _shared_by(axis: int) -> Callable[[Array, Arguments, Shape], Array | None]:
    return _unless(lambda mask, _: mask.ndim >= -axis and mask.shape[axis] == 1)


MASK_HEEDED = Decision(
    "mask_heeded",
    "When is the mask heeded?",
    (
        standard("always", lambda mask, *_: mask),
        mistake("padding_mask_ignored", lambda *_: None, "never"),
        mistake("padding_mask_ignored", _in_one_sample_ignored(-1), "not_in_last_sample"),
        mistake("padding_mask_ignored", _in_one_sample_ignored(0), "not_in_first_sample"),
        mistake("padding_mask_ignored", _shared_by(-2), "not_if_shared_by_queries"),
        mistake("block_mask_broadcast_wrong", _shared_by(-3), "not_if_shared_by_heads"),
        mistake("block_mask_broadcast_wrong", _shared_by(-4), "not_if_shared_by_batch"),
        mistake("window_ignores_mask", _unless(lambda _, arguments: arguments.get("window") is not None)),
        mistake("mask_beside_bias_ignored", _unless(lambda _, arguments: arguments.get("bias") is not None)),
    ),
)


def _as_given(mask: Array, shape: Shape) -> Array:
    return mask


def _tiled_by_heads(mask: Array, shape: Shape) -> Array:
    of_samples = np.broadcast_to(mask, shape)[:, 0]
    return np.tile(of_samples, (shape[1], 1, 1)).reshape(shape)


def _strided_heads(mask: Array, shape: Shape) -> Array:
    if mask.shape[-3:-2] != (1,):
        return mask
    read = np.arange(len(mask))[:, None] + np.arange(shape[1])
    return np.asarray(mask[read % len(mask), 0])


def _on_query_axis(mask: Array, shape: Shape) -> Array:
    return mask.swapaxes(-1, -2) if mask.shape[-2] == 1 and shape[-2] == shape[-1] else mask


def _transposed(mask: Array, shape: Shape) -> Array:
    if shape[-2] != shape[-1]:
        raise NotDefined
    return mask.swapaxes(-1, -2)


def _shifted(places: int) -> Callable[[Array, Shape], Array]:
    return lambda mask, _: np.roll(mask, places, axis=-1)


def _shifted_if_padding(places: int) -> Callable[[Array, Shape], Array]:
    return lambda mask, _: mask if mask.shape[-2] > 1 else np.roll(mask, places, axis=-1)


def _first_of(axis: int) -> Callable[[Array, Shape], Array]:
    return lambda mask, shape: np.take(np.broadcast_to(mask, shape), [0], axis=axis)


def _as_many_keys_as_queries(mask: Array, shape: Shape) -> Array:
    """Return a mask that is taken to be square: keys behind as many as there are queries are hidden."""
    return np.asarray(mask & (np.arange(shape[-1]) < shape[-2]))


MASK_READING = Decision(
    "mask_reading",
    "Which entry of the mask belongs to a query and a key?",
    (
        standard("its_own", _as_given),
        mistake("mask_head_repeat_order", _tiled_by_heads),
        mistake("mask_stride_broadcast_wrong", _strided_heads),
        mistake("padding_mask_on_query_axis", _on_query_axis),
        mistake("packing_cross_document_leak", lambda mask, _: mask.any(axis=-2, keepdims=True)),
        *(
            mistake("left_padding_shifts_mask", shift(places), f"{name}_{places:+d}")
            for name, shift in (("padding", _shifted_if_padding), ("any", _shifted))
            for places in (1, -1)
        ),
        neighbour("transposed", _transposed, "queries and keys of the mask are exchanged"),
        neighbour("first_head_for_all", _first_of(1), "the first head's mask is used in every head"),
        mistake("mask_of_first_sample", _first_of(0), "first_sample_for_all"),
        mistake("mask_reshape_assumes_square", _as_many_keys_as_queries),
        neighbour("first_query_for_all", _first_of(2), "the first query's mask is used for every query"),
    ),
)


def _selected(scores: Scores, mask: Array) -> Scores:
    return scores.showing(mask)


def _finite(constant: float) -> Callable[[Scores, Array], Scores]:
    return lambda scores, mask: scores.changed(np.where(mask, scores.logits, constant))


def _added(constant: float) -> Callable[[Scores, Array], Scores]:
    return lambda scores, mask: scores.changed(scores.logits + np.where(mask, 0.0, constant))


def _multiplied_after(scores: Scores, mask: Array) -> Scores:
    return scores.gated(np.broadcast_to(mask, scores.logits.shape))


def _multiplied_before(scores: Scores, mask: Array) -> Scores:
    return scores.changed(np.where(mask, scores.logits, 0.0))


_CONSTANTS = (-1e3, -1e4, -65504.0, -1e5)
# So low a number hides keys from every logit of a real model: softmax over the keys makes of it what it makes of −∞.
_LOWEST = -1e9


def filled() -> Option:
    """Return the option of a program that gives hidden keys a logit that no other one comes near."""
    meaning = "hidden keys get a finite number as their logit, which is no mistake where it is as low as −10⁹"
    return harmless(f"hidden_logit_{_LOWEST:g}", _given_lowest, meaning)


def _given_lowest(scores: Scores, shown: Array) -> Scores:
    """Return scores in which hidden keys have that number."""
    return scores.changed(np.where(shown, scores.logits, _LOWEST))


MASK_USE = Decision(
    "mask_use",
    "What is done with the mask?",
    (
        standard("hidden_keys_left_out", _selected),
        mistake("mask_polarity_inverted", lambda scores, mask: scores.showing(~mask)),
        mistake("bool_mask_added_as_numbers", lambda scores, mask: scores.changed(scores.logits + mask)),
        mistake("mask_multiplied_after_softmax_no_renorm", _multiplied_after),
        *(mistake("finite_mask_beaten_by_logits", _finite(c), f"hidden_logit_{c:g}") for c in _CONSTANTS),
        *(mistake("finite_mask_beaten_by_logits", _added(c), f"hidden_logit_plus_{c:g}") for c in _CONSTANTS),
        neighbour("logits_multiplied", _multiplied_before, "hidden logits become 0 instead of −∞"),
        filled(),
    ),
)
