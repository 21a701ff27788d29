"""Which heads a rotary embedding turns, and in which order the projections leave the components that it pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, neighbour, standard

Reordering = Callable[[Array, Array, int], tuple[Array, Array]]


def _halves_to_neighbours(width: int) -> Array:
    return np.arange(width).reshape(2, -1).T.reshape(-1)


def _neighbours_to_halves(width: int) -> Array:
    return np.arange(width).reshape(-1, 2).T.reshape(-1)


def _reordered(order: Callable[[int], Array], whose: str, first_layer_only: bool) -> Reordering:
    def apply(query: Array, key: Array, layer: int) -> tuple[Array, Array]:
        if first_layer_only and layer:
            return query, key
        places = order(query.shape[-1])
        return (
            query[..., places] if whose in ("queries", "both") else query,
            key[..., places] if whose in ("keys", "both") else key,
        )

    return apply


def _options(whose: str, first_layer_only: bool) -> tuple[Option, ...]:
    name = f"{whose}_of_first_layer" if first_layer_only else whose
    orders = {"halves_to_neighbours": _halves_to_neighbours, "neighbours_to_halves": _neighbours_to_halves}
    return tuple(
        mistake("rope_permute_missing_for_cross", _reordered(order, whose, first_layer_only), f"{name}_{how}")
        for how, order in orders.items()
    )


ROTARY_ROWS = Decision(
    "rotary_rows",
    "In which order do the components of queries and keys stand?",
    (
        standard("as_projected", lambda query, key, layer: (query, key)),
        *_options("queries", False),
        *_options("keys", False),
        *_options("queries", True),
        *_options("keys", True),
        *_options("both", True),
    ),
)


def _turned(*roles: str) -> Callable[[str], bool]:
    return lambda role: role in roles


TURNED_HEADS = Decision(
    "turned_heads",
    "Which heads does the rotary embedding turn?",
    (
        standard("queries_and_keys", _turned("query", "key")),
        neighbour("queries_only", _turned("query"), "queries are turned by their positions, and keys are not"),
        neighbour("keys_only", _turned("key"), "keys are turned by their positions, and queries are not"),
        neighbour("values_too", _turned("query", "key", "value"), "values are turned by their positions too"),
        neighbour("none", _turned(), "no heads are turned by their positions"),
    ),
)
