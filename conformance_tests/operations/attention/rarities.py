"""Rarities of attention: the sizes of real models, masks and biases of every shape, extreme values, shared arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values, some_absent, together

_PLAIN = ("scale",)
_MASK = ("mask.value",)
_BIAS = ("bias.value",)
_EXPLICIT = ("explicit_scale",)
_CAUSAL = ("causal.unequal_lengths",)
_WINDOW = ("window.value",)
_SOFTCAP = ("softcap.value",)
_SINKS = ("sinks.value",)
_WITH_MASK, _WITH_BIAS, _WITH_WINDOW = frozenset({"mask"}), frozenset({"bias"}), frozenset({"window"})
_ONE: dict[str, Any] = {"batch": 1, "heads": 1, "kv_heads": 1}

_WIDTHS = (32, 40, 64, 80, 96, 128, 256)
_QKV = "minus_zero subnormal zero negative positive"
_PLAIN_ONES = (
    *of_sizes(_PLAIN, "head_width", _WIDTHS, **_ONE, query_length=3, key_length=4),
    *of_sizes(_PLAIN, "query_length", (24, 66, 130, 520, 1030), **_ONE, key_length=3, head_width=2),
    *of_sizes(_PLAIN, "key_length", (24, 66, 130, 520, 1030), **_ONE, query_length=3, head_width=2),
    *of_sizes(_PLAIN, "key_length", (4096,), reach=2, **_ONE, query_length=2, head_width=2),
    *of_sizes(_PLAIN, "query_length", (4096,), reach=2, **_ONE, key_length=2, head_width=2),
    *of_values(_PLAIN, "query key", _QKV),
)
_SHARED = (
    Rarity(_PLAIN, {"query_length": 4, "key_length": 4}, (("key", "same_as_query"),)),
    Rarity(_PLAIN, {"query_length": 4, "key_length": 4}, (("key", "equal_to_query"),)),
)
VALUES = (
    *of_sizes(_PLAIN, "value_width", (24, 64, 80, 128), **_ONE, query_length=3, key_length=4),
    *of_values(_PLAIN, "value", f"{_QKV} hundred huge ties", head_width=4, value_width=4),
    Rarity(_PLAIN, {"head_width": 4, "value_width": 4}, (("value", "same_as_key"),)),
    Rarity(_PLAIN, {"head_width": 4, "value_width": 4}, (("value", "equal_to_key"),)),
    Rarity(_PLAIN, {"query_length": 4, "head_width": 4, "value_width": 4}, (("value", "same_as_query"),)),
    Rarity(
        _PLAIN,
        {"query_length": 4, "head_width": 4, "value_width": 4},
        (("key", "same_as_query"), ("value", "same_as_query")),
    ),
)


def _length(size: int) -> dict[str, int]:
    """Return a sequence of so many tokens, which attends to itself."""
    return {"query_length": size, "key_length": size}


def _as_many(size: int) -> dict[str, int]:
    """Return as many samples as heads, so that one axis can be mistaken for the other."""
    return {"batch": size, "heads": size, "kv_heads": size}


_SHAPES = "shape_lengths shape_shared shape_heads_only shape_batch_only shape_one_key shape_keys_only"
_MASKS = (
    *of_values(_MASK, "mask", f"{_SHAPES} shape_one_query hidden_key", _WITH_MASK, mask="random"),
    *(
        Rarity(_MASK, {"mask": "random", **_as_many(size)}, (("mask", shape),), _WITH_MASK)
        for size in (2, 3)
        for shape in ("shape_batch_only", "shape_heads_only")
    ),
    *(
        Rarity(_MASK, {"mask": "random", "query_length": length, "key_length": length}, (("mask", shape),), _WITH_MASK)
        for length, shape in ((4, "shape_lengths"), (70, "shape_lengths"), (130, "shape_shared"))
    ),
)
_BIASES = (
    *of_values(_BIAS, "bias", f"{_SHAPES} shape_one_query", _WITH_BIAS, bias=True),
    *of_values(_BIAS, "bias", f"{_QKV} hundred far_below", _WITH_BIAS, bias=True),
    *(
        Rarity(_BIAS, {"bias": True, **_as_many(size)}, (("bias", shape),), _WITH_BIAS)
        for size in (2, 3)
        for shape in ("shape_batch_only", "shape_heads_only")
    ),
    Rarity(_BIAS, {"bias": True, "query_length": 4, "key_length": 4}, (("bias", "shape_lengths"),), _WITH_BIAS),
)
_CAUSAL_ONES = (
    *(
        Rarity(_CAUSAL, {**_ONE, "is_causal": True, "query_length": queries, "key_length": keys, "head_width": 2})
        for queries, keys in ((24, 23), (66, 67), (130, 129), (140, 3), (3, 140))
    ),
    Rarity(
        _CAUSAL, {**_ONE, "is_causal": True, "query_length": 520, "key_length": 519, "head_width": 2, "value_width": 2},
        reach=2,
    ),
)  # fmt: skip
_CAUSAL_ONES = tuple(replace(one, needs=frozenset({"is_causal"})) for one in _CAUSAL_ONES)
_SCALES = tuple(
    Rarity(_EXPLICIT, {"scale": scale}, needs=frozenset({"scale"})) for scale in (0.125, 0.0625, 1.0, 3.0, 0.01)
)
_WINDOWS = tuple(
    Rarity(_WINDOW, {**_ONE, "window": (left, right), "query_length": length, "key_length": length}, needs=_WITH_WINDOW)
    for left, right, length in (
        (None, None, 5),
        (-1, -1, 5),
        (-1, 1, 5),
        (2, -1, 5),
        # No narrower to the left than one key, which both ways of counting have.
        (1, 0, 5),
        (1, 3, 7),
        (9, 0, 24),
        (70, 0, 90),
        (9, 9, 4),
    )
)
_SOFTCAPS = tuple(Rarity(_SOFTCAP, {"softcap": cap}, needs=frozenset({"softcap"})) for cap in (30.0, 50.0, 0.25))
# Forwards it has a law of its own.
_NO_SOFTCAP = Rarity(_SOFTCAP, {"softcap": 0.0}, needs=frozenset({"softcap"}))
_SINK_VALUES = of_values(_SINKS, "sinks", "zero hundred half negative positive", frozenset({"sinks"}), sinks=True)

_OPTIONAL = (*_WINDOWS, *_SOFTCAPS, *_SINK_VALUES)
_SEVERAL_HEADS = tuple(
    Rarity(_PLAIN, {"batch": 1, "heads": heads, "kv_heads": heads}) for heads in (5, 8, 9, 12, 16, 32)
)
_WEIGHTS = (*_PLAIN_ONES, *_SHARED, *_MASKS, *_BIASES, *_CAUSAL_ONES, *_SCALES, *_SEVERAL_HEADS)
# A mask that hides every key from every query: nothing has a gradient.
_NO_KEYS = Rarity(("mask.empty_row",), {"mask": "empty_rows"}, (("mask", "all_false"),), _WITH_MASK)
_GRADIENT_LAWS = ("grad_query", "grad_key", "grad_value")


def _grouped(rarity: Rarity) -> Rarity:
    """Return a rarity of attention as one of grouped attention: twice as many query heads."""
    heads, batch = rarity.fields.get("heads", 2), rarity.fields.get("batch", 2)
    alike = {"batch": 2 * batch} if batch == rarity.fields.get("heads") and batch > 1 else {}
    return replace(rarity, fields={**rarity.fields, **alike, "heads": 2 * heads, "kv_heads": heads})


def _without_groups(rarity: Rarity) -> bool:
    alike = ("same_as_query", "equal_to_query", "same_as_value", "equal_to_value")
    return any(kind in alike for _, kind in rarity.changes)


_GROUPS = tuple(
    Rarity(_PLAIN, {"batch": 1, "heads": kv_heads * group, "kv_heads": kv_heads})
    for kv_heads, group in ((2, 4), (1, 4), (2, 8), (1, 8), (8, 1), (8, 4), (4, 3), (5, 2), (2, 6), (8, 2))
)
ATTENTION = (*_WEIGHTS, *VALUES, *_OPTIONAL)


def _of_gradients() -> tuple[Rarity, ...]:
    return (*in_gradients(_GRADIENT_LAWS, *VALUES), *of_output_gradients(_GRADIENT_LAWS))


def of_output_gradients(laws: tuple[str, ...]) -> tuple[Rarity, ...]:
    """Return the rarities of the gradient of an output, one array with the values among them."""
    own = of_values(laws, "grad_output", f"{_QKV} large small constant", head_width=4, value_width=4)
    shared = (("grad_output", "same_as_value"), ("grad_output", "equal_to_value"))
    alike = (Rarity(laws, {"query_length": 4, "head_width": 4, "value_width": 4}, (change,)) for change in shared)
    return (*own, *alike)


def in_gradients(laws: tuple[str, ...], *others: Rarity) -> tuple[Rarity, ...]:
    """Return the rarities of weights, and others, as those of gradients, of which `laws` say the values."""
    softcaps = (replace(one, laws=("softcap.slope",)) for one in (*_SOFTCAPS, _NO_SOFTCAP))
    every = (*_WEIGHTS, *others, *_WINDOWS, *softcaps, *_SINK_VALUES, _NO_KEYS)
    return tuple(replace(one, laws=laws) if one.laws == _PLAIN else one for one in every)


_PROJECTED = "minus_zero subnormal zero negative positive small constant"
_PROJECTION_BIASES = tuple(f"weights.b_{one}" for one in "qkvo")
_BIAS_VALUES = "some_negative negative zero some_zero fraction half whole positive hundred"
MULTI_HEAD = (
    *_SEVERAL_HEADS,
    *_GROUPS[:5],
    *_MASKS,
    Rarity(_PLAIN, {"batch": 4, "heads": 2, "kv_heads": 2, "head_width": 2, "key_length": 4}),
    *of_sizes(_PLAIN, "head_width", (24, 32, 64, 80, 128), batch=1, query_length=3, key_length=2),
    *of_sizes(_PLAIN, "value_width", (24, 64), batch=1, query_length=3, key_length=2),
    *of_sizes(_PLAIN, "query_length", (24, 66, 130), **_ONE, key_length=3, head_width=2),
    *of_sizes(_PLAIN, "key_length", (24, 66, 130), **_ONE, query_length=3, head_width=2),
    Rarity(_PLAIN, {"batch": 1, "heads": 9, "kv_heads": 9, "head_width": 64}, reach=1),
    *together(_PLAIN, {"x": f"{_PROJECTED} large", "context": f"{_PROJECTED} large"}),
    *of_values(_PLAIN, "weights.w_q weights.w_o", "zero positive whole"),
    *some_absent(("biases",), _PROJECTION_BIASES),
    *(
        Rarity(("biases",), {"biases": True}, tuple((path, "absent") for path in pair))
        for pair in (("weights.b_q", "weights.b_k"), ("weights.b_q", "weights.b_v"), ("weights.b_k", "weights.b_v"))
    ),
    *together(("biases",), dict.fromkeys(_PROJECTION_BIASES, _BIAS_VALUES), biases=True),
    *_CAUSAL_ONES[:3],
    Rarity(
        _CAUSAL, {"heads": 4, "kv_heads": 2, "is_causal": True, "query_length": 3, "key_length": 5},
        needs=frozenset({"is_causal", "num_kv_heads"}),
    ),
    Rarity(
        _MASK, {"heads": 4, "kv_heads": 2, "is_causal": True, "mask": "random"},
        needs=frozenset({"is_causal", "num_kv_heads", "mask"}),
    ),
)  # fmt: skip
# Of one head a mask has three axes at most, and the widths of queries and values follow no E.
_ALIKE: dict[str, Any] = {"head_width": 4, "value_width": 4}
SINGLE_HEAD = (
    *of_sizes(_PLAIN, "head_width", (24, 32, 64, 80, 128, 512), batch=1, **_length(3)),
    *of_sizes(_PLAIN, "value_width", (24, 64, 128), batch=1, **_length(3)),
    *(Rarity(_PLAIN, {"batch": 1, "head_width": 2, "value_width": 3, **_length(size)}) for size in (24, 66, 130, 520)),
    *(Rarity(_PLAIN, {"batch": size, **_length(size)}) for size in (2, 4)),
    *of_values(_PLAIN, "x", f"{_PROJECTED} large", **_ALIKE),
    *of_values(_PLAIN, "weights.w_q weights.w_k weights.w_v", "zero positive whole", **_ALIKE),
    Rarity(_PLAIN, _ALIKE, (("weights.w_k", "same_as_weights.w_q"),)),
    Rarity(_PLAIN, _ALIKE, (("weights.w_v", "same_as_weights.w_k"),)),
    *(
        Rarity(_MASK, {"mask": "random", "batch": batch, **_length(length)}, (("mask", kind),), _WITH_MASK)
        for batch, length in ((2, 5), (3, 3), (1, 70))
        for kind in ("shape_lengths", "shape_heads_only", "shape_batch_only", "shape_one_key", "lower_triangle")
    ),
)
GROUPED = (
    *(_grouped(one) for one in ATTENTION if not _without_groups(one)),
    *(replace(one, fields={**one.fields, "heads": 2}) for one in _SHARED + VALUES if _without_groups(one)),
    *_GROUPS,
)
WEIGHTS = (*_WEIGHTS, *_OPTIONAL)
GRADIENTS = _of_gradients()
_BY_WEIGHTS = ("grad_query", "grad_key")
WEIGHTS_GRADIENTS = (
    *in_gradients(_BY_WEIGHTS),
    *of_values(_BY_WEIGHTS, "grad_output", f"{_QKV} large small constant", key_length=4),
    Rarity(_BY_WEIGHTS, {"batch": 3, "key_length": 3}),
)
GROUPED_GRADIENTS = (
    *(_grouped(one) for one in GRADIENTS if not _without_groups(one)),
    *(replace(one, fields={**one.fields, "heads": 2}) for one in GRADIENTS if _without_groups(one)),
    *(replace(one, laws=_GRADIENT_LAWS) for one in _GROUPS),
)
