"""The family of the gradient of the table of token embeddings."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding.variants import NUMBERING, SCALE
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point


def _added(result: Array, rows: Array, gradients: Array) -> None:
    np.add.at(result, rows, gradients)


def _overwritten(result: Array, rows: Array, gradients: Array) -> None:
    # In the order of the places, so that the last stays.
    for row, gradient in zip(rows, gradients, strict=True):
        result[row] = gradient


def _first_kept(result: Array, rows: Array, gradients: Array) -> None:
    _overwritten(result, rows[::-1], gradients[::-1])


def _averaged(result: Array, rows: Array, gradients: Array) -> None:
    np.add.at(result, rows, gradients)
    result /= np.maximum(np.bincount(rows, minlength=len(result)), 1)[:, None]


def _into_first_row(result: Array, rows: Array, gradients: Array) -> None:
    result[0] += gradients.sum(axis=0)


def _into_every_row(result: Array, rows: Array, gradients: Array) -> None:
    result += gradients.sum(axis=0)


# Of the result (N, E), the rows of all places and their gradients.
ACCUMULATION = Decision(
    "accumulation",
    "What becomes of the gradients of one token at several places?",
    (
        standard("added", _added),
        mistake("embedding_backward_repeated_tokens_overwrite", _overwritten),
        mistake("embedding_backward_averages_repeated_tokens", _averaged),
        mistake("embedding_backward_all_into_first_row", _into_first_row),
        neighbour("first_kept", _first_kept, "of a token at several places only the first gradient is kept"),
        neighbour("into_every_row", _into_every_row, "every row gets the sum of all gradients"),
    ),
)

# Of the gradient of the table.
FIXED_ROW = Decision(
    "fixed_row",
    "Is there a token whose row gets no gradient?",
    (
        standard("none", lambda count: np.ones((count, 1))),
        mistake("embedding_real_token_declared_padding", lambda count: np.arange(count)[:, None] != 0),
        neighbour("last", lambda count: np.arange(count)[:, None] != count - 1, "the last token's row gets none"),
        neighbour("one", lambda count: np.arange(count)[:, None] != 1, "the row of token 1 gets no gradient"),
    ),
)

# Of tokens (B, L): by what the gradient is divided.
DIVISOR = Decision(
    "divisor",
    "By what is the gradient divided?",
    (
        standard("nothing", lambda tokens: 1),
        mistake("embedding_backward_mean_over_places", lambda tokens: tokens.size, "number_of_places"),
        mistake("embedding_backward_mean_over_places", len, "number_of_samples"),
        mistake("embedding_backward_mean_over_places", lambda tokens: tokens.shape[1], "length"),
    ),
)

PASSED = Decision(
    "passed",
    "Does the gradient reach the table?",
    (
        standard("yes", lambda result, table: result),
        neighbour("not_at_all", lambda result, table: np.zeros_like(result), "no gradient is passed on"),
        neighbour("times_table", lambda result, table: result * table, "the gradient is multiplied by the table"),
    ),
)


def token_embedding_backward(arguments: Arguments, point: Point) -> Array:
    """Return the gradient of a table at a point of the family, (N, E)."""
    tokens = np.asarray(arguments["tokens"])
    table, gradient = (np.asarray(arguments[name], dtype=np.float64) for name in ("table", "grad_output"))
    count, width = table.shape
    result = np.zeros(table.shape)
    point["accumulation"](result, point["numbering"](tokens, count).ravel(), gradient.reshape(-1, width))
    factor = point["scale"](bool(arguments.get("scale_by_sqrt_d_model")), width, count)
    result = result * factor / point["divisor"](tokens) * point["fixed_row"](count)
    return np.asarray(point["passed"](result, table))


EMBEDDING_BACKWARD = Family(
    "token_embedding_backward", (NUMBERING, SCALE, ACCUMULATION, FIXED_ROW, DIVISOR, PASSED), token_embedding_backward
)
