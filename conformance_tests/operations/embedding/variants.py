"""The family of token embedding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

NUMBERING = Decision(
    "numbering",
    "Which row of the table does a token have?",
    (
        standard("from_zero", lambda tokens, count: tokens),
        mistake("token_numbers_from_one", lambda tokens, count: (tokens - 1) % count),
        mistake("token_numbers_from_one", lambda tokens, count: np.maximum(tokens - 1, 0), "first_row_twice"),
        mistake("", lambda tokens, count: (tokens + 1) % count, "row_after", "each token gets the row after its own"),
        mistake(
            "",
            lambda tokens, count: np.minimum(tokens + 1, count - 1),
            "row_after_last_twice",
            "each token but the last gets the row after its own",
        ),
        mistake("", lambda tokens, count: count - 1 - tokens, "from_the_end", "the table is read from its end"),
    ),
)

SCALE = Decision(
    "scale",
    "What are the vectors multiplied by?",
    (
        standard("root_of_width_where_asked", lambda asked, width, count: math.sqrt(width) if asked else 1.0),
        mistake("embedding_scale_missing", lambda asked, width, count: 1.0),
        mistake("embedding_scaled_by_width", lambda asked, width, count: float(width) if asked else 1.0),
        mistake("embedding_scaled_unasked", lambda asked, width, count: math.sqrt(width)),
        mistake(
            "",
            lambda asked, width, count: 1.0 / math.sqrt(width) if asked else 1.0,
            "divided_by_root",
            "the vectors are divided by √E instead of multiplied",
        ),
        mistake(
            "",
            lambda asked, width, count: math.sqrt(count) if asked else 1.0,
            "root_of_vocabulary",
            "the vectors are multiplied by √N, of the vocabulary, instead of √E",
        ),
    ),
)

PADDING = Decision(
    "padding_token",
    "Is there a token that has no vector?",
    (
        standard("none", lambda tokens, count: np.ones(tokens.shape)),
        mistake("embedding_zeroes_token_zero", lambda tokens, count: tokens != 0),
        mistake("", lambda tokens, count: tokens != count - 1, "last", "the last token gets zeros"),
        mistake("", lambda tokens, count: tokens != 1, "one", "token 1 is mistaken for padding and gets zeros"),
    ),
)


def _indices(length: int, width: int) -> Array:
    return np.arange(length, dtype=np.float64)[:, None]


def _sinusoids(layout: Any) -> Any:
    # A width that is odd has one column too many.
    return lambda length, width: reference.sinusoidal_positions(length, width + width % 2, layout=layout)[:, :width]


def _added_first(positions: Any) -> Any:
    return lambda rows, factor: (rows + positions(*rows.shape[-2:])) * factor


def _added_last(positions: Any) -> Any:
    return lambda rows, factor: rows * factor + positions(*rows.shape[-2:])


POSITIONS = Decision(
    "positions",
    "Are positions added?",
    (
        standard("no", lambda rows, factor: rows * factor),
        mistake("embedding_adds_positions", _added_last(_sinusoids("interleaved"))),
        mistake("embedding_adds_positions", _added_last(_sinusoids("concatenated")), "adds_concatenated_sinusoids"),
        mistake("embedding_adds_positions", _added_first(_sinusoids("interleaved")), "adds_sinusoids_before_scale"),
        mistake("embedding_adds_positions", _added_last(_indices), "adds_indices"),
        mistake("embedding_adds_positions", _added_first(_indices), "adds_indices_before_scale"),
    ),
)


def _length(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=-1, keepdims=True))


def _no_longer_than(most: float) -> Callable[[Array], Array]:
    """Return the effect of a `max_norm` of the look-up, which also writes to the table."""
    return lambda rows: rows * np.minimum(1.0, most / np.maximum(_length(rows), np.finfo(np.float64).tiny))


CENTRING = Decision(
    "centring",
    "Is a mean removed from the vectors, or their length bounded?",
    (
        standard("no", lambda rows: rows),
        mistake("embedding_centred_over_tokens", lambda rows: rows - rows.mean(axis=-2, keepdims=True)),
        mistake("embedding_centred_over_tokens", lambda rows: rows - rows.mean(axis=(0, 1)), "centred_over_the_batch"),
        mistake(
            "",
            lambda rows: rows - rows.mean(axis=-1, keepdims=True),
            "each_vector",
            "the mean over its components is removed from each vector",
        ),
        *(
            mistake("embedding_renormalised_in_place", _no_longer_than(most), f"no_longer_than_{most:g}")
            for most in (1.0, 2.0)
        ),
        mistake(
            "",
            lambda rows: rows / _length(rows),
            "unit_length",
            "each vector is divided by its length",
        ),
    ),
)


def token_embedding(arguments: Arguments, point: Point) -> Array:
    """Return the vectors of tokens (B, L) at a point of the family, (B, L, E)."""
    tokens, table = np.asarray(arguments["tokens"]), np.asarray(arguments["table"], dtype=np.float64)
    count, width = table.shape
    factor = point["scale"](bool(arguments.get("scale_by_sqrt_d_model")), width, count)
    rows = table[point["numbering"](tokens, count)] * point["padding_token"](tokens, count)[..., None]
    return np.asarray(point["positions"](point["centring"](rows), factor))


EMBEDDING = Family("token_embedding", (NUMBERING, SCALE, PADDING, POSITIONS, CENTRING), token_embedding)
