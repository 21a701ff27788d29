"""Decisions on the way from queries and keys to logits: which head reads which, scale, soft cap, the order of steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import NotDefined
from veriformer.conformance_tests.variants.precision import HALVES, rounded_to

Operands = tuple[Array, Array, Array | None]


def _keys_and_values_swapped(query: Array, key: Array, value: Array | None) -> Operands:
    if value is None or value.shape[-1] != key.shape[-1]:
        raise NotDefined
    return query, value, key


def _queries_and_keys_swapped(query: Array, key: Array, value: Array | None) -> Operands:
    if query.shape != key.shape:
        raise NotDefined
    return key, query, value


def _values_are_keys(query: Array, key: Array, value: Array | None) -> Operands:
    if value is not None and value.shape[-1] != key.shape[-1]:
        raise NotDefined
    return query, key, None if value is None else key


OPERANDS = Decision(
    "operands",
    "Which argument is matched with which, and which is averaged?",
    (
        standard("in_their_roles", lambda query, key, value: (query, key, value)),
        mistake("keys_and_values_swapped", _keys_and_values_swapped),
        neighbour("queries_and_keys_swapped", _queries_and_keys_swapped, "the logits are those of keys over queries"),
        neighbour("values_are_keys", _values_are_keys, "the keys are averaged, the values never used"),
    ),
)


def _repeat_each(heads: int, table: Array) -> Array:
    return np.repeat(table, heads // table.shape[1], axis=1)


def _tile(heads: int, table: Array) -> Array:
    return np.tile(table, (1, heads // table.shape[1], 1, 1))


def _of_index(index: Callable[[Array, int], Array]) -> Callable[[int, Array], Array]:
    """Return the grouping by a separate index; one out of range reads the last head, as clamping compilers do."""

    def read(heads: int, table: Array) -> Array:
        kv_heads = table.shape[1]
        return table[:, np.minimum(index(np.arange(heads), kv_heads), kv_heads - 1)]

    return read


def _rolled(heads: int, table: Array) -> Array:
    return _repeat_each(heads, np.roll(table, 1, axis=1))


def _rolled_if_long(heads: int, table: Array) -> Array:
    return _rolled(heads, table) if table.shape[2] > 1 else _repeat_each(heads, table)


def _of_both(read: Callable[[int, Array], Array]) -> Callable[[int, Array, Array | None], tuple[Array, Array | None]]:
    return _grouping(read, read)


def _grouping(
    keys: Callable[[int, Array], Array], values: Callable[[int, Array], Array]
) -> Callable[[int, Array, Array | None], tuple[Array, Array | None]]:
    return lambda heads, key, value: (keys(heads, key), None if value is None else values(heads, value))


GROUPING = Decision(
    "grouping",
    "Which key/value head does a query head read?",
    (
        standard("repeat_each", _of_both(_repeat_each)),
        mistake("gqa_head_index_wrong", _of_both(_tile), "tile"),
        mistake("gqa_head_index_wrong", _of_both(_of_index(lambda head, kv_heads: head // kv_heads)), "wrong_divisor"),
        mistake("gqa_head_index_wrong", _of_both(_of_index(lambda head, kv_heads: head)), "own_index"),
        mistake("gqa_head_index_wrong", _grouping(_tile, _repeat_each), "keys_tiled"),
        mistake("gqa_head_index_wrong", _grouping(_repeat_each, _tile), "values_tiled"),
        mistake("backend_specific_wrong_kernel", _of_both(_rolled_if_long), "next_head_if_long"),
        mistake("backend_specific_wrong_kernel", _of_both(_rolled), "next_head"),
        neighbour("first_head", _of_both(_of_index(lambda head, _: 0 * head)), "every query head reads the first head"),
    ),
)


def _folded(query: Array, kv_heads: int) -> Array:
    """Return the query heads cut as (heads in a group, groups), where groups come first."""
    batch, heads, *rest = query.shape
    folded = query.reshape(batch, heads // kv_heads, kv_heads, *rest)
    return folded.swapaxes(1, 2).reshape(query.shape)


QUERY_HEADS = Decision(
    "query_heads",
    "In which order do query heads come to the key/value heads?",
    (
        standard("their_own", lambda query, kv_heads: query),
        mistake("gqa_head_index_wrong", _folded, "folded_by_groups"),
    ),
)


def _by_length(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


SIMILARITY = Decision(
    "similarity",
    "How is a query compared with a key?",
    (
        standard("dot_product", lambda query, key: (query, key)),
        mistake("cosine_instead_of_dot_product", lambda query, key: (query, _by_length(key)), "keys_of_length_one"),
        mistake("cosine_instead_of_dot_product", lambda query, key: (_by_length(query), _by_length(key)), "cosine"),
        mistake(
            "cosine_instead_of_dot_product",
            lambda query, key: (query, key / (1.0 + np.abs(key).max(axis=-1, keepdims=True))),
            "keys_by_largest",
        ),
        mistake("components_paired_wrongly", lambda query, key: (query, np.roll(key, 1, axis=-1)), "one_forward"),
        mistake("components_paired_wrongly", lambda query, key: (query, np.roll(key, -1, axis=-1)), "one_back"),
        mistake("components_paired_wrongly", lambda query, key: (query, key[..., ::-1]), "reversed"),
        neighbour("negated", lambda query, key: (query, -key), "the logits have the opposite sign"),
    ),
)


def _padded(multiple: int) -> Callable[[float | None, Array, Array], float]:
    return _unless_given(lambda query, _: (-(-query.shape[-1] // multiple) * multiple) ** -0.5)


def _unless_given(default: Callable[[Array, Array], float]) -> Callable[[float | None, Array, Array], float]:
    return lambda given, query, key: default(query, key) if given is None else given


def _usual(query: Array, _: Array) -> float:
    return 1.0 / math.sqrt(query.shape[-1])


def _given_beside_usual(given: float | None, query: Array, key: Array) -> float:
    return _usual(query, key) * (1.0 if given is None else given)


def _rounded_unless_given(dtype: str) -> Callable[[float | None, Array, Array], float]:
    return _unless_given(lambda query, key: float(rounded_to(dtype, np.asarray(_usual(query, key)))))


def _rounded(dtype: str) -> Callable[[float | None, Array, Array], float]:
    return lambda given, query, key: float(rounded_to(dtype, np.asarray(_unless_given(_usual)(given, query, key))))


def _of_axis(axis: int) -> Callable[[Array, Array], float]:
    return lambda query, _: float(query.shape[axis] ** -0.5)


_OF_OTHER_AXES: tuple[tuple[str, str, str, Callable[[Array, Array], float]], ...] = (
    ("length", "S", "keys", lambda _, key: float(key.shape[2] ** -0.5)),
    ("number_of_queries", "L", "queries", _of_axis(2)),
    ("number_of_heads", "H", "heads", _of_axis(1)),
    ("number_of_samples", "B", "samples", _of_axis(0)),
)

SCALE = Decision(
    "scale",
    "By what are the inner products multiplied?",
    (
        standard("given_or_inverse_root_of_width", _unless_given(_usual)),
        mistake("scale_missing", _unless_given(lambda *_: 1.0), "missing_unless_given"),
        mistake("scale_missing", lambda *_: 1.0, "missing"),
        mistake(
            "scale_by_d_model_not_head_dim", _unless_given(lambda query, _: (query.shape[-1] * query.shape[1]) ** -0.5)
        ),
        *(
            mistake(
                "scale_by_wrong_axis",
                _unless_given(default),
                name,
                f"the scale is 1/√{size}, by the number of {counted}, instead of 1/√D",
            )
            for name, size, counted, default in _OF_OTHER_AXES
        ),
        mistake("scale_applied_twice", _unless_given(lambda query, _: 1.0 / query.shape[-1]), "twice_unless_given"),
        mistake(
            "scale_applied_twice",
            lambda given, query, key: _unless_given(_usual)(given, query, key) ** 2,
            "twice",
        ),
        *(mistake("scale_from_padded_head_dim", _padded(size), f"padded_to_{size}") for size in (8, 16, 32, 64, 128)),
        mistake(
            "scale_from_padded_head_dim",
            _unless_given(lambda query, _: 2.0 ** (-0.5 * math.ceil(math.log2(query.shape[-1])))),
            "padded_to_power_of_two",
        ),
        *(
            mistake("scale_rounded_to_half", scale(dtype), f"{name}_in_{dtype}")
            for dtype in HALVES
            for name, scale in (("usual", _rounded_unless_given), ("any", _rounded))
        ),
        mistake("query_scale_config_wrong", lambda _, query, key: _usual(query, key), "given_ignored"),
        neighbour("given_beside_usual", _given_beside_usual, "a given scale is applied in addition to 1/√D"),
        neighbour(
            "given_divides",
            lambda given, query, key: _usual(query, key) if given is None else 1.0 / given,
            "the logits are divided by a scale that is given",
        ),
        neighbour(
            "multiplied_by_root",
            _unless_given(lambda query, _: math.sqrt(query.shape[-1])),
            "the inner products are multiplied by √D instead of divided",
        ),
        neighbour(
            "halved",
            lambda given, query, key: _unless_given(_usual)(given, query, key) / 2,
            "the logits are halved, as where a temperature of one half has no effect",
        ),
        neighbour(
            "quartered",
            lambda given, query, key: _unless_given(_usual)(given, query, key) / 4,
            "the logits are a quarter of what they are, as where a temperature of one half multiplies them",
        ),
        neighbour("fourth_root", _unless_given(lambda query, _: query.shape[-1] ** -0.25), "the scale is D^(−1/4)"),
    ),
)


def _off_at_zero(cap: Callable[[Array, float], Array]) -> Callable[[Array, float], Array]:
    return lambda logits, softcap: cap(logits, softcap) if softcap else logits


def _divided_by_zero(logits: Array, softcap: float) -> Array:
    return np.asarray(np.float64(softcap) * np.tanh(logits / np.float64(softcap)))


SOFTCAP = Decision(
    "softcap",
    "How is a logit capped?",
    (
        standard("bent", reference.soft_cap),
        mistake("softcap_clips", _off_at_zero(lambda logits, softcap: np.clip(logits, -softcap, softcap))),
        mistake("softcap_missing_factor", _off_at_zero(lambda logits, softcap: np.tanh(logits / softcap))),
        mistake("softcap_ignored", lambda logits, softcap: logits),
        mistake("softcap_of_zero_divides", _divided_by_zero),
        neighbour(
            "not_divided", _off_at_zero(lambda logits, softcap: softcap * np.tanh(logits)), "c tanh(z) for c tanh(z/c)"
        ),
    ),
)


@dataclass(frozen=True)
class Steps:
    """The ingredients of the logits: products by a factor, the cap, the bias, the factor itself."""

    products: Callable[[float], Array]
    cap: Callable[[Array], Array]
    add: Callable[[Array], Array]
    factor: float


# Orders in which the cap comes after the mask: there hidden logits, −∞, become −c.
CAPPED_AFTER_MASK = ("softcap_after_mask", "softcap_again_after_mask")


def _standard_order(steps: Steps) -> Array:
    return steps.add(steps.cap(steps.products(steps.factor)))


def _bias_scaled_apart(steps: Steps) -> Array:
    capped = steps.cap(steps.products(steps.factor))
    return capped + steps.factor * (steps.add(np.zeros_like(capped)))


ORDER_OF_STEPS = Decision(
    "order_of_steps",
    "In which order come scale, soft cap, bias and mask?",
    (
        standard("scale_softcap_bias_mask", _standard_order),
        mistake("softcap_vs_scale_order", lambda steps: steps.add(steps.factor * steps.cap(steps.products(1.0)))),
        mistake("softcap_after_bias", lambda steps: steps.cap(steps.add(steps.products(steps.factor)))),
        mistake("softcap_after_mask", lambda steps: steps.add(steps.products(steps.factor))),
        mistake("softcap_after_mask", _standard_order, "softcap_again_after_mask"),
        mistake(
            "mask_scaled_with_scores",
            lambda steps: steps.cap(steps.factor * steps.add(steps.products(1.0))),
            "bias_before_scale",
        ),
        mistake("mask_scaled_with_scores", _bias_scaled_apart, "bias_scaled_as_well"),
        neighbour(
            "powers_of_two", lambda steps: math.log(2.0) * _standard_order(steps), "2 is raised to the logits, not e"
        ),
    ),
)
