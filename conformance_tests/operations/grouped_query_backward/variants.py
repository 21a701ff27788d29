"""The family of grouped attention's backward pass: that of attention on repeated heads, then a sum over each group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.logits import GROUPING
from veriformer.conformance_tests.operations.attention_backward.variants import DECISIONS, gradients
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point

# From the gradients of all query heads and the number of groups to those of the key/value heads.
Gathered = Callable[[Array, int], Array]


def _of_each_group(of: Callable[[Array], Array]) -> Gathered:
    """Return what takes the gradients of the heads of each group, (B, G, H/G, S, width), together."""

    def gathered(gradient: Array, groups: int) -> Array:
        batch, heads, *rest = gradient.shape
        return np.asarray(of(gradient.reshape(batch, groups, heads // groups, *rest)))

    return gathered


_SUMMED = _of_each_group(lambda heads: heads.sum(axis=2))
_AVERAGED = _of_each_group(lambda heads: heads.mean(axis=2))
_FIRST = _of_each_group(lambda heads: heads[:, :, 0])
_LAST = _of_each_group(lambda heads: heads[:, :, -1])
_BY_ROOT = _of_each_group(lambda heads: heads.sum(axis=2) / heads.shape[2] ** 0.5)


def _across_groups(gradient: Array, groups: int) -> Array:
    """Add up the heads h with the same h mod G."""
    batch, heads, *rest = gradient.shape
    return np.asarray(gradient.reshape(batch, heads // groups, groups, *rest).sum(axis=1))


def _first_heads(gradient: Array, groups: int) -> Array:
    return gradient[:, :groups]


def _all_heads(gradient: Array, groups: int) -> Array:
    return np.repeat(gradient.sum(axis=1, keepdims=True), groups, axis=1)


def _each(of_keys: Gathered, of_values: Gathered) -> Callable[[Array, Array, int], tuple[Array, Array]]:
    return lambda keys, values, groups: (of_keys(keys, groups), of_values(values, groups))


def _of_both(gathered: Gathered) -> Callable[[Array, Array, int], tuple[Array, Array]]:
    return _each(gathered, gathered)


GROUP_GRADIENTS = Decision(
    "group_gradients",
    "What is the gradient of a head that a group of query heads shares?",
    (
        standard("sum", _of_both(_SUMMED)),
        mistake("gqa_backward_mean_over_group", _of_both(_AVERAGED)),
        mistake("gqa_backward_mean_over_group", _each(_AVERAGED, _SUMMED), "of_keys"),
        mistake("gqa_backward_mean_over_group", _each(_SUMMED, _AVERAGED), "of_values"),
        mistake("gqa_backward_group_not_summed", _of_both(_FIRST), "first_of_group"),
        mistake("gqa_backward_group_not_summed", _of_both(_LAST), "last_of_group"),
        mistake("gqa_backward_group_not_summed", _each(_FIRST, _SUMMED), "first_key_of_group"),
        mistake("gqa_backward_group_not_summed", _each(_SUMMED, _FIRST), "first_value_of_group"),
        mistake("gqa_backward_group_not_summed", _each(_LAST, _SUMMED), "last_key_of_group"),
        mistake("gqa_backward_group_not_summed", _each(_SUMMED, _LAST), "last_value_of_group"),
        mistake("gqa_backward_group_not_summed", _of_both(_first_heads), "first_heads"),
        mistake("gqa_backward_head_index_divided_by_group", _of_both(_across_groups)),
        mistake("gqa_backward_head_index_divided_by_group", _each(_across_groups, _SUMMED), "of_keys_alone"),
        mistake("gqa_backward_head_index_divided_by_group", _each(_SUMMED, _across_groups), "of_values_alone"),
        neighbour(
            "root_of_group",
            _of_both(_BY_ROOT),
            "the sum over a group is divided by the root of its size",
        ),
        neighbour("all_heads", _of_both(_all_heads), "every shared head gets the gradients of all query heads"),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the three gradients, one after the other, at a point of the family."""
    heads, groups = arguments["query"].shape[1], arguments["key"].shape[1]
    if heads % groups:
        raise NotDefined
    key, value = point["grouping"](heads, arguments["key"], arguments["value"])
    of_query, *of_heads = gradients({**arguments, "key": key, "value": value}, point)
    return np.concatenate([part.ravel() for part in (of_query, *point["group_gradients"](*of_heads, groups))])


GROUPED_QUERY_BACKWARD = Family(
    "grouped_query_attention_backward", (GROUPING, *DECISIONS, GROUP_GRADIENTS), compute, needs_dtype=True
)
