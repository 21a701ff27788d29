"""Which keys the attention of a layer sees: padding, causality, and the memory of a decoder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, standard
from veriformer.conformance_tests.variants.family import NotDefined, Point

Mask = Array | None


def own_visible(point: Point, padding: Mask, queries: int, *, past: int = 0) -> Mask:
    """Return the visibility in self-attention, broadcastable to (B, H, L, S), at a point with these decisions. None
    means everything.
    """
    real = point["padding"](padding, queries)
    causal: Mask = point["causality"](queries, past)
    visible: Mask = point["masks_together"](causal, real, padding)
    return visible


def memory_visible(point: Point, memory_padding: Mask, padding: Mask, queries: int, keys: int) -> Mask:
    """Return the visibility of the memory in cross-attention, broadcastable to (B, H, L, S)."""
    real = point["memory_padding"](memory_padding, queries)
    visible: Mask = point["memory_mask"](real, padding, queries, keys)
    return visible


def both(first: Mask, second: Mask) -> Mask:
    """Return the intersection of two masks."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _keys(padding: Mask, queries: int) -> Mask:
    return None if padding is None else padding[:, None, None, :]


def _inverted(padding: Mask, queries: int) -> Mask:
    return None if padding is None else ~padding[:, None, None, :]


def _from_the_left(padding: Mask, queries: int) -> Mask:
    if padding is None:
        return None
    return np.asarray((np.arange(padding.shape[1]) < padding.sum(axis=1, keepdims=True))[:, None, None, :])


def _first_sample(padding: Mask, queries: int) -> Mask:
    return None if padding is None else padding[:1, None, None, :]


def _rows(padding: Mask, queries: int) -> Mask:
    if padding is None:
        return None
    if padding.shape[1] != queries:
        raise NotDefined("the mask has a row for each key, not for each query")
    return padding[:, None, :, None]


def _stretched(padding: Mask, queries: int) -> Mask:
    """Return the mask's entries in the order of memory, again and again, as a mask for each query."""
    return None if padding is None else np.resize(padding, (len(padding), 1, queries, padding.shape[1]))


def _samples_as_heads(padding: Mask, queries: int) -> Mask:
    """Return a mask without an axis for the heads, which broadcasting then takes from the samples."""
    return None if padding is None else padding[None, :, None, :]


def padding_decision(name: str, whose: str) -> Decision:
    """Return the decision what a padding mask (B, S), True at real tokens, hides."""
    return Decision(
        name,
        f"What does the padding mask {whose} hide?",
        (
            standard("keys", _keys),
            mistake("padding_mask_ignored", lambda padding, queries: None),
            mistake("mask_polarity_inverted", _inverted),
            mistake("padding_taken_for_right_padding", _from_the_left),
            mistake("mask_of_first_sample", _first_sample),
            mistake("padding_mask_on_query_axis", _rows),
            mistake("mask_expand_wrong", _stretched, "stretched"),
            mistake("mask_expand_wrong", _samples_as_heads, "samples_as_heads"),
        ),
    )


PADDING = padding_decision("padding", "of the tokens")
MEMORY_PADDING = padding_decision("memory_padding", "of the memory")


def by_distance(shows: Callable[[Array], Array]) -> Callable[[int, int], Array]:
    """Return a mask (L, S) for L queries after `past` keys, by how far behind its query a key is."""

    def mask(queries: int, past: int) -> Array:
        return shows(past + np.arange(queries)[:, None] - np.arange(past + queries))

    return mask


CAUSAL_MISTAKES: tuple[Option, ...] = (
    mistake("decoder_not_causal", lambda queries, past: None),
    mistake("causal_diagonal_off_by_one", by_distance(lambda distance: distance >= -1)),
    mistake("causal_mask_excludes_self", by_distance(lambda distance: distance > 0)),
    mistake("causal_mask_transposed", by_distance(lambda distance: distance <= 0)),
)
_causal = by_distance(lambda distance: distance >= 0)
CAUSALITY = Decision(
    "causality",
    "Which keys does a query of a causal self-attention see?",
    (standard("none_later", _causal), *CAUSAL_MISTAKES),
)


def _replaced_by_padding(causal: Mask, real: Mask, padding: Mask) -> Mask:
    return causal if padding is None else real


def _only_with_padding(causal: Mask, real: Mask, padding: Mask) -> Mask:
    return None if padding is None else both(causal, real)


MASKS_TOGETHER = Decision(
    "masks_together",
    "What is seen where causality and a padding mask meet?",
    (
        standard("what_both_show", lambda causal, real, padding: both(causal, real)),
        mistake("padding_mask_replaces_causal", _replaced_by_padding),
        mistake("causal_dropped_without_explicit_mask", _only_with_padding),
    ),
)


ENCODER_MASK = Decision(
    "encoder_mask",
    "What does an encoder hide besides padding?",
    (
        standard("nothing", lambda real, padding, queries: real),
        mistake("encoder_made_causal", lambda real, padding, queries: both(real, _causal(queries, 0))),
        mistake(
            "encoder_made_causal",
            lambda real, padding, queries: _causal(queries, 0),
            name="causality_replaces_padding",
        ),
        mistake(
            "encoder_made_causal",
            lambda real, padding, queries: _causal(queries, 0) if padding is None or padding.all() else real,
            name="causality_where_nothing_is_hidden",
        ),
    ),
)


def _early(queries: int, keys: int) -> Array:
    return np.tri(queries, keys, dtype=bool)


def _of_target_if_it_fits(real: Mask, padding: Mask, queries: int, keys: int) -> Mask:
    return None if padding is None or padding.shape[1] != keys else padding[:, None, None, :]


def _of_target(real: Mask, padding: Mask, queries: int, keys: int) -> Mask:
    if padding is None:
        return None
    fitted = np.ones((len(padding), keys), dtype=bool)
    common = min(keys, padding.shape[1])
    fitted[:, :common] = padding[:, :common]
    return fitted[:, None, None, :]


def _of_target_where_it_fits(real: Mask, padding: Mask, queries: int, keys: int) -> Mask:
    return real if padding is None or padding.shape[1] != keys else padding[:, None, None, :]


def _own_where_lengths_agree(real: Mask, padding: Mask, queries: int, keys: int) -> Mask:
    return real if queries != keys else _of_target(real, padding, queries, keys)


MEMORY_MASK = Decision(
    "memory_mask",
    "Which mask does cross-attention get?",
    (
        standard("of_memory", lambda real, padding, queries, keys: real),
        mistake("cross_attn_wrong_mask", _of_target),
        mistake("cross_attn_wrong_mask", _of_target_if_it_fits, name="mask_of_target_if_it_fits"),
        mistake("cross_attn_wrong_mask", _own_where_lengths_agree, name="own_mask_where_lengths_agree"),
        mistake("cross_attn_wrong_mask", _of_target_where_it_fits, name="mask_of_target_where_it_fits"),
        mistake("cross_attn_causal", lambda real, padding, queries, keys: both(real, _early(queries, keys))),
        mistake(
            "cross_attn_causal",
            lambda real, padding, queries, keys: _early(queries, keys),
            name="causality_replaces_memory_mask",
        ),
    ),
)
CONTEXT = Decision(
    "context",
    "From what are keys and values of cross-attention projected?",
    (
        standard("memory", lambda y, memory, norm, own, seen: (memory, seen)),
        mistake("cross_attn_uses_decoder_states", lambda y, memory, norm, own, seen: (y, own)),
        mistake(
            "cross_attn_uses_decoder_states",
            lambda y, memory, norm, own, seen: (y, None),
            name="decoder_states_without_mask",
        ),
        mistake(
            "cross_attn_uses_decoder_states",
            lambda y, memory, norm, own, seen: (y if y.shape == memory.shape else memory, seen),
            name="decoder_states_where_lengths_agree",
        ),
        mistake("memory_normalised", lambda y, memory, norm, own, seen: (norm(memory), seen)),
    ),
)
