"""Which matrices and biases make queries, keys and values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import NotDefined

# The matrix and the bias of queries, keys and values, by `q`, `k` and `v`.
Named = dict[str, tuple[Array, Array | None]]


def _by(query: str = "q", key: str = "k", value: str = "v") -> Callable[[Named], Named]:
    """Return which of the projections `q`, `k` and `v` makes queries, keys and values."""

    def of(named: Named) -> Named:
        return {"q": named[query], "k": named[key], "v": named[value]}

    return of


def _transposed(named: Named) -> Named:
    if any(matrix.shape[0] != matrix.shape[1] for matrix, _ in named.values()):
        raise NotDefined
    return {role: (matrix.T, bias) for role, (matrix, bias) in named.items()}


PROJECTIONS = Decision(
    "projections",
    "Which matrix projects what?",
    (
        standard("its_own", lambda named: named),
        mistake("value_uses_key_projection", _by(value="k"), "values_by_keys"),
        mistake("value_uses_key_projection", _by(key="q", value="q"), "one_for_all"),
        neighbour("keys_and_values_exchanged", _by(key="v", value="k"), "w_k and w_v are exchanged"),
        neighbour("queries_and_keys_exchanged", _by(query="k", key="q"), "w_q and w_k are exchanged"),
        neighbour("transposed", _transposed, "x Wᵀ for x W, in and out exchanged"),
    ),
)


def _without_bias(role: str) -> Callable[[Named, bool], Named]:
    return lambda named, _: {**named, role: (named[role][0], None)}


def _query_bias_in_self_attention_alone(named: Named, to_itself: bool) -> Named:
    return named if to_itself else _without_bias("q")(named, to_itself)


def _without_biases(named: Named) -> Named:
    return {role: (matrix, None) for role, (matrix, _) in named.items()}


BIASES = Decision(
    "biases",
    "Which biases are added to queries, keys and values?",
    (
        standard("all", lambda named, _: named),
        mistake("cross_attn_query_skips_step", _query_bias_in_self_attention_alone),
        mistake(
            "cross_attn_query_skips_step",
            lambda named, itself: named if itself else _without_biases(named),
            "biases_in_self_attention_alone",
        ),
        neighbour("no_query_bias", _without_bias("q"), "the bias of the queries is not added"),
        neighbour("no_value_bias", _without_bias("v"), "the bias of the values is not added"),
        neighbour(
            "none",
            lambda named, _: _without_biases(named),
            "no bias of queries, keys and values is added",
        ),
    ),
)


Expand = Callable[[Array, int, int], Array]


def _heads_of(parameter: Array, kv_heads: int) -> Array:
    return parameter.reshape(*parameter.shape[:-1], kv_heads, -1)


def _repeated(parameter: Array, kv_heads: int, group: int) -> Array:
    return np.repeat(_heads_of(parameter, kv_heads), group, axis=-2).reshape(*parameter.shape[:-1], -1)


def _tiled(parameter: Array, kv_heads: int, group: int) -> Array:
    heads = _heads_of(parameter, kv_heads)
    return np.concatenate([heads] * group, axis=-2).reshape(*parameter.shape[:-1], -1)


def _expanded(keys: Expand, values: Expand) -> Callable[[Named, int, int], tuple[Named, int]]:
    """Return the parameters of keys and values for as many heads as there are queries, and how many these are."""

    def loaded(named: Named, heads: int, kv_heads: int) -> tuple[Named, int]:
        group = heads // kv_heads
        expanded = {
            role: (expand(matrix, kv_heads, group), None if bias is None else expand(bias, kv_heads, group))
            for (role, expand) in (("k", keys), ("v", values))
            for matrix, bias in (named[role],)
        }
        return {**named, **expanded}, heads

    return loaded


KV_WEIGHTS = Decision(
    "kv_weights",
    "How do the weights of few key/value heads become those of all heads?",
    (
        standard("not_at_all", lambda named, heads, kv_heads: (named, kv_heads)),
        mistake("kv_repeat_wrong_on_load", _expanded(_tiled, _tiled)),
        mistake("kv_repeat_wrong_on_load", _expanded(_tiled, _repeated), "key_weights_tiled"),
        mistake("kv_repeat_wrong_on_load", _expanded(_repeated, _tiled), "value_weights_tiled"),
    ),
)
