"""Regions of attention: lengths, heads, masks, flags and logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import (
    ATTENTION,
    BEYOND_EXP,
    MODERN,
    OF_ADDITIONS,
    PER_HEAD,
    Region,
    among,
)
from veriformer.conformance_tests.operations.attention.case import GROUPED
from veriformer.conformance_tests.operations.every.regions import with_gradients

_MULTI_HEAD = ("multi_head_attention",)
# With a result as wide as the values are.
_WITH_VALUES = with_gradients(*MODERN)
_LENGTHS = (*ATTENTION, "causal_mask")
_MASKS_OF_EVERY_SHAPE = (*MODERN, "attention_weights", "multi_head_attention")
_LARGEST_FLOAT16 = 65504.0
_LOWEST_FILL = -1e4


def _products(given: Any) -> np.ndarray:
    """Return every product of a query with a key, (B, H, L, S)."""
    return np.asarray(given.query @ given.key.repeat(given.group_size, axis=1).swapaxes(-1, -2))


def _logits(given: Any) -> np.ndarray:
    scale = 1.0 / np.sqrt(given.query.shape[-1]) if given.scale is None else given.scale
    return np.asarray(scale * _products(given))


def _hides_a_key(given: Any) -> bool:
    return given.mask is not None and not given.mask.all()


def _samples_differ(given: Any) -> bool:
    mask = given.mask
    return mask is not None and mask.ndim == 4 and bool((mask != mask[:1]).any())


def _below_any_fill(given: Any) -> bool:
    """Return whether a query that may not see every key has all its logits below the usual stand-ins for −∞."""
    if given.mask is None:
        return False
    visible = np.broadcast_to(given.mask, (*given.query.shape[:3], given.key.shape[2]))
    highest = np.where(visible, _logits(given), -np.inf).max(axis=-1)
    return bool((np.isfinite(highest) & (highest < _LOWEST_FILL) & ~visible.all(axis=-1)).any())


def _is_not_finite(given: Any) -> bool:
    arrays = (getattr(given, name, None) for name in ("key", "value", "context"))
    return any(array is not None and not np.isfinite(array).all() for array in arrays)


def _has_two_documents(given: Any) -> bool:
    return given.mask is not None and given.mask.ndim == 2 and not (given.mask[0] & given.mask[-1]).any()


def _window_ends(case: Any) -> bool:
    left = None if case.window is None else case.window[0]
    return left is not None and min(case.query_length, case.key_length) > left + 1


LENGTHS = among(
    _LENGTHS,
    ("L < S", "Several queries meet more keys than they are.", lambda c: 1 < c.query_length < c.key_length),
    ("L > S", "More queries than keys.", lambda c: c.query_length > c.key_length),
    ("L = S > 1", "As many queries as keys, several of each.", lambda c: c.query_length == c.key_length > 1),
    ("one query, many keys", "Decoding: one query meets all keys.", lambda c: c.query_length == 1 < c.key_length),
    ("many queries, one key", "Every query meets the same one key.", lambda c: c.query_length > 1 == c.key_length),
    ("several queries", "The length of the queries is a real axis.", lambda c: c.query_length > 1),
    ("one block and a tail", "More than 8 keys, no multiple of 8.", lambda c: c.key_length > 8 and c.key_length % 8),
)
SIZES = among(
    ATTENTION,
    ("two blocks and a tail", "One key beyond blocks of 32.", lambda c: c.key_length in (33, 65)),
    ("one sample", "A batch of one.", lambda c: c.batch == 1),
    ("batch differs from heads", "Neither axis passes for the other.", lambda c: 1 < c.batch != c.heads > 1),
    ("one head", "Nothing to split into heads.", lambda c: c.heads == 1),
    ("several heads", "The axis of heads is a real one.", lambda c: c.heads > 1),
    ("several heads and queries", "Both axes can be mixed up.", lambda c: c.heads > 1 < c.query_length),
    ("width one", "Vectors of one component, and the scale 1.", lambda c: c.head_width == 1),
    ("width above one", "The scale is not 1.", lambda c: c.head_width > 1),
    ("width no multiple of 8", "A kernel has to pad the vectors.", lambda c: c.head_width % 8),
)
VALUES = among(
    _WITH_VALUES,
    ("value wider than key", "Results are wider than queries.", lambda c: c.value_width > c.head_width),
    ("value narrower than key", "Results are narrower than queries.", lambda c: c.value_width < c.head_width),
)
FLAGS = among(
    ATTENTION,
    ("causal", "A causal flag with several queries.", lambda c: c.is_causal and c.query_length > 1),
    ("causal, L < S", "The alignment of the triangle shows.", lambda c: c.is_causal and c.query_length < c.key_length),
    ("causal, L > S", "The alignment of the triangle shows.", lambda c: c.is_causal and c.query_length > c.key_length),
    ("causal and mask", "The flag together with a mask.", lambda c: c.is_causal and c.mask != "none"),
    (
        "causal and padding",
        "The flag together with a padding mask, and several queries.",
        lambda c: c.is_causal and "padding" in c.mask and c.query_length > 1,
    ),
    (
        "not causal, several tokens",
        "Several queries and keys without the flag.",
        lambda c: not c.is_causal and min(c.query_length, c.key_length) > 1,
    ),
    ("amplitude 4", "Logits of some dozens.", lambda c: c.amplitude == 4),
)
NOTHING_GIVEN = among(
    tuple(name for name in ATTENTION if name not in OF_ADDITIONS),
    ("nothing given", "No mask, bias or flag.", lambda c: not c.is_causal and c.mask == "none" and not c.bias),
)
MASKS = among(
    ATTENTION,
    ("mask random", "A mask without a pattern.", lambda c: c.mask == "random"),
    ("mask padding", "The last keys are padding.", lambda c: c.mask == "padding"),
    ("mask left_padding", "The first keys are padding.", lambda c: c.mask == "left_padding"),
    ("mask one_visible", "Each query sees one key.", lambda c: c.mask == "one_visible"),
    ("empty rows", "Some queries see no key.", lambda c: c.mask == "empty_rows"),
    *(
        (f"mask {shape}", f"The mask has the shape {sizes}.", lambda c, s=shape: c.mask != "none" and c.mask_shape == s)
        for shape, sizes in (
            ("full", "(B, H, L, S)"),
            ("shared_by_heads", "(B, 1, L, S)"),
            ("shared_by_batch", "(1, H, L, S)"),
            ("lengths", "(L, S)"),
            ("keys_only", "(B, 1, 1, S)"),
        )
    ),
    (
        "a mask of its own for every sample and head",
        "A full mask, several samples and heads.",
        lambda c: c.mask != "none" and c.mask_shape == "full" and c.batch > 1 < c.heads,
    ),
)
PALETTES = among(
    ATTENTION,
    ("values bits", "Zeros and ones.", lambda c: c.palette == "bits"),
    ("values integers", "Integers from −3 to 3.", lambda c: c.palette == "integers"),
    ("values normal", "Normally distributed values.", lambda c: c.palette == "normal"),
    ("values offset", "A mean far from zero: errors add up.", lambda c: c.palette == "offset"),
    ("values repeated", "Equal rows: errors add up.", lambda c: c.palette == "repeated"),
)
BIASES = among(
    (*MODERN, "attention_weights"),
    ("bias", "An additive bias.", lambda c: c.bias),
    ("bias and mask", "A bias together with a mask.", lambda c: c.bias and c.mask != "none"),
    ("bias, mask and flag", "All three at once.", lambda c: c.bias and c.mask != "none" and c.is_causal),
    (
        "bias on scaled logits",
        "A bias where the scale is not 1.",
        lambda c: c.bias and (c.head_width > 1 if c.scale is None else c.scale != 1),
    ),
)
SHARED_BIASES = (
    Region(
        "a shared bias",
        "Several samples, heads or queries share an entry of the bias.",
        ("attention_bias_backward",),
        lambda c: c.bias_shape != "full",
        lambda given: given.bias.size < given.batch * given.heads * given.query_length * given.key_length,
    ),
)
SCALES = among(
    PER_HEAD,
    ("scale below one", "A scale is given, below 1.", lambda c: c.scale is not None and c.scale < 1),
    ("scale above one", "A scale is given, above 1.", lambda c: c.scale is not None and c.scale > 1),
)
ADDITIONS = (
    *among(
        (*_WITH_VALUES, "attention_weights_backward"),
        ("window that ends", "Some keys lie beyond the window on the left.", _window_ends),
        ("causal with sinks", "A sink together with a causal flag.", lambda c: c.is_causal and c.sinks),
    ),
    Region(
        "logits beyond the cap",
        "The soft cap bends some logits.",
        (*_WITH_VALUES, *with_gradients("attention_weights")),
        lambda c: c.softcap is not None,
        lambda given: bool(np.abs(_logits(given)).max() > given.softcap),
    ),
)
GROUPS = (
    *among(
        GROUPED,
        ("several groups of several heads", "Neither is one.", lambda c: 1 < c.kv_heads < c.heads),
        ("one key/value head", "All heads share it.", lambda c: c.kv_heads == 1 < c.heads),
        ("as many key/value heads as heads", "None is shared.", lambda c: c.kv_heads == c.heads > 1),
        (
            "groups of another size than their number",
            "Counting groups is not counting their heads.",
            lambda c: 1 < c.kv_heads < c.heads != c.kv_heads**2,
        ),
    ),
    *among(
        _MULTI_HEAD,
        ("grouped projections", "Several heads share each projection.", lambda c: 1 < c.kv_heads < c.heads),
        ("projections with biases", "Each projection has a bias.", lambda c: c.biases),
        ("projections without biases", "No projection has a bias.", lambda c: not c.biases),
    ),
    Region(
        "projections that differ",
        "Keys and values are projected differently.",
        _MULTI_HEAD,
        inputs=lambda given: not np.array_equal(given.weights.w_k, given.weights.w_v),
    ),
)
INPUTS = (
    Region("a hidden key", "The mask hides a key.", ATTENTION, lambda c: c.mask != "none", _hides_a_key),
    Region(
        "samples with masks of their own",
        "Several heads, and samples whose masks differ.",
        _MASKS_OF_EVERY_SHAPE,
        lambda c: c.mask != "none" and c.batch > 1 < c.heads,
        _samples_differ,
    ),
    Region(
        "logits beyond exp",
        "A logit whose exponential overflows.",
        PER_HEAD,
        lambda c: c.amplitude >= 4,
        lambda given: bool(_logits(given).max() > BEYOND_EXP[given.dtype]),
    ),
    Region(
        "negative logits only",
        "Rows in which a maximum that starts at zero is wrong.",
        tuple(name for name in PER_HEAD if name not in OF_ADDITIONS),
        lambda c: c.amplitude >= 4,
        lambda given: bool(_logits(given).max(axis=-1).min() < -BEYOND_EXP[given.dtype]),
    ),
    Region(
        "logits below any fill",
        "Visible keys have lower logits than a finite number that hides.",
        (*MODERN, "attention_weights"),
        lambda c: c.mask != "none",
        _below_any_fill,
        ("mask.low_logits",),
    ),
    Region(
        "not finite behind a mask",
        "Hidden keys hold a NaN or an infinity.",
        MODERN,
        lambda c: c.mask != "none",
        _is_not_finite,
        ("mask.nonfinite_behind_mask",),
    ),
    Region(
        "two documents",
        "A sequence of two documents that do not see each other.",
        MODERN,
        lambda c: c.mask != "none",
        _has_two_documents,
        ("mask.packed",),
    ),
    Region(
        "products beyond float16",
        "Products that float16 holds only when the scale comes before them.",
        MODERN,
        lambda c: c.dtype == "float16",
        lambda given: bool(np.abs(_products(given)).max() > _LARGEST_FLOAT16),
        ("scale.range",),
    ),
)
REGIONS = (
    *LENGTHS,
    *SIZES,
    *VALUES,
    *FLAGS,
    *NOTHING_GIVEN,
    *MASKS,
    *PALETTES,
    *BIASES,
    *SHARED_BIASES,
    *SCALES,
    *ADDITIONS,
    *GROUPS,
    *INPUTS,
)
