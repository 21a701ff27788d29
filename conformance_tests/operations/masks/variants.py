"""The families of the masks: which keys the causal rule shows, and which tokens are real."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def _as_booleans(visible: Array) -> Array:
    return visible


def _complement(visible: Array) -> Array:
    return ~visible


def _as_summands(visible: Array) -> Array:
    return np.where(visible, 0.0, -np.inf)


MEANING_OF_TRUE = Decision(
    "meaning_of_true",
    "What stands where a key is visible?",
    (
        standard("true_is_visible", _as_booleans),
        mistake("mask_polarity_inverted", _complement),
        mistake("mask_convention_mismatch_additive_vs_binary", _as_summands),
        mistake(
            "",
            lambda visible: np.where(visible, -np.inf, 0.0),
            name="additive_and_inverted",
            meaning="the mask is of summands, and minus infinity stands at what is visible",
        ),
    ),
)

ALIGNMENT = Decision(
    "causal_alignment",
    "Which corner does the diagonal start from when L ≠ S?",
    (
        standard("top_left", lambda queries, keys: 0),
        convention("bottom_right", lambda queries, keys: keys - queries, "causal_top_left_vs_bottom_right"),
    ),
    convention="causal_alignment",
)

# Of the distance i − j, counted from the aligned diagonal.
VISIBLE = Decision(
    "visible",
    "Which keys around its own position does a query see?",
    (
        standard("up_to_own", lambda distance: distance >= 0),
        mistake("causal_diagonal_off_by_one", lambda distance: distance >= -1),
        mistake("causal_mask_excludes_self", lambda distance: distance > 0),
        mistake("causal_mask_transposed", lambda distance: distance <= 0),
        mistake("decoder_not_causal", lambda distance: np.ones_like(distance, dtype=bool)),
        mistake(
            "",
            lambda distance: distance == 0,
            name="own_position_only",
            meaning="each query sees its own position alone",
        ),
    ),
)


def _causal(arguments: Arguments, point: Point) -> Array:
    queries, keys = arguments["query_length"], arguments["key_length"]
    own = np.arange(queries)[:, None] + point["causal_alignment"](queries, keys)
    return np.asarray(point["meaning_of_true"](point["visible"](own - np.arange(keys))))


CAUSAL_MASK = Family("causal_mask", (ALIGNMENT, VISIBLE, MEANING_OF_TRUE), _causal)


# Of a column j, the sequence's length n, and the padded length S.
REAL = Decision(
    "real",
    "Which columns hold real tokens?",
    (
        standard("before_the_length", lambda column, length, padded: column < length),
        mistake("cache_valid_length_off_by_one", lambda column, length, padded: column < length - 1),
        mistake("padding_mask_ignored", lambda column, length, padded: np.ones_like(column < length)),
        mistake(
            "",
            lambda column, length, padded: column <= length,
            name="one_too_many",
            meaning="one column of padding counts as real",
        ),
        mistake(
            "",
            lambda column, length, padded: column >= padded - length,
            name="left_padded",
            meaning="the real tokens are taken to stand on the right, behind the padding",
        ),
        mistake(
            "",
            lambda column, length, padded: column == length - 1,
            name="last_token_only",
            meaning="only the last real token of each sequence is marked",
        ),
    ),
)

WHOSE_LENGTH = Decision(
    "whose_length",
    "Whose length bounds a sequence?",
    (
        standard("its_own", lambda lengths: lengths),
        mistake(
            "",
            lambda lengths: np.broadcast_to(lengths[:1], lengths.shape),
            name="of_first_sequence",
            meaning="every sequence gets the length of the first",
        ),
        mistake(
            "",
            lambda lengths: np.broadcast_to(lengths.max(initial=0), lengths.shape),
            name="of_longest_sequence",
            meaning="every sequence gets the length of the longest",
        ),
        mistake(
            "",
            lambda lengths: np.broadcast_to(lengths.min(initial=2**31), lengths.shape),
            name="of_shortest_sequence",
            meaning="every sequence gets the length of the shortest",
        ),
    ),
)


def _padding(arguments: Arguments, point: Point) -> Array:
    padded = arguments["max_length"]
    lengths = point["whose_length"](np.asarray(arguments["lengths"]))[:, None]
    return np.asarray(point["meaning_of_true"](point["real"](np.arange(padded)[None, :], lengths, padded)))


PADDING_MASK = Family("padding_mask", (REAL, WHOSE_LENGTH, MEANING_OF_TRUE), _padding)
