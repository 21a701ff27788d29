"""The family of multi-head attention: projections around the family of attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.formula import ATTENTION
from veriformer.conformance_tests.operations.multi_head.variants.projections import BIASES, KV_WEIGHTS, PROJECTIONS
from veriformer.conformance_tests.variants.decision import Decision, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point

Streams = tuple[Array, Array, Array]


def _streams(query: str, key: str, value: str) -> Callable[[Array, Array], Streams]:
    """Return the source of each of queries, keys and values: `x` or the context."""

    def of(x: Array, context: Array) -> Streams:
        found = {"x": x, "context": context}
        streams = found[query], found[key], found[value]
        # Where keys are of another number than the mask has columns, attention itself stops.
        if streams[0].shape[1] != x.shape[1] or streams[1].shape[1] != streams[2].shape[1]:
            raise NotDefined
        return streams

    return of


def _from_x_where_lengths_agree(x: Array, context: Array) -> Streams:
    context = x if x.shape == context.shape else context
    return x, context, context


STREAMS = Decision(
    "streams",
    "What are queries, keys and values projected from?",
    (
        standard("queries_from_x", _streams("x", "context", "context")),
        mistake("cross_attn_uses_decoder_states", _streams("x", "x", "x"), "all_from_x"),
        mistake("cross_attn_uses_decoder_states", _streams("context", "context", "context"), "all_from_context"),
        mistake("cross_attn_uses_decoder_states", _streams("context", "x", "x"), "exchanged"),
        mistake("cross_attn_uses_decoder_states", _from_x_where_lengths_agree, "all_from_x_where_lengths_agree"),
        neighbour("keys_from_x", _streams("x", "x", "context"), "keys alone are projected from x"),
        neighbour("values_from_x", _streams("x", "context", "x"), "values alone are projected from x"),
    ),
)


@dataclass(frozen=True)
class Projected:
    """Queries, keys and values, (B, length, width) each, how many heads each has, and whether x attends itself."""

    arrays: tuple[Array, Array, Array]
    heads: tuple[int, int, int]
    of_one_stream: bool = False

    def each(self, split: Callable[[Array, int], Array]) -> list[Array]:
        """Return the three, each cut into its heads."""
        return [split(array, heads) for array, heads in zip(self.arrays, self.heads, strict=True)]

    def fused(self) -> Array:
        """Return the three in one array; NotDefined unless they belong to one stream and are of one shape."""
        if len({array.shape for array in self.arrays}) > 1 or len(set(self.heads)) > 1:
            raise NotDefined
        return np.concatenate(self.arrays, axis=-1)


Split = Callable[[Projected], list[Array]]


def _component_major(x: Array, heads: int) -> Array:
    return x.reshape(*x.shape[:2], -1, heads).transpose(0, 3, 1, 2)


def _without_transpose(x: Array, heads: int) -> Array:
    return x.reshape(x.shape[0], heads, x.shape[1], -1)


def _thirds_read_by_heads(projected: Projected) -> list[Array]:
    """Read [Q|K|V] as [q₀ k₀ v₀ q₁ …]."""
    fused = projected.fused().reshape(*projected.arrays[0].shape[:2], projected.heads[0], 3, -1)
    return list(np.moveaxis(fused, (2, 3), (2, 0)))


def _heads_read_by_thirds(projected: Projected) -> list[Array]:
    """Read [q₀ k₀ v₀ q₁ …] as [Q|K|V]."""
    parts = projected.fused().reshape(*projected.arrays[0].shape[:2], 3, projected.heads[0], -1)
    stored = parts.swapaxes(2, 3).reshape(*parts.shape[:2], -1)
    return [reference.split_heads(third, projected.heads[0]) for third in np.split(stored, 3, axis=-1)]


def _of_itself(split: Split) -> Split:
    """Return a split that is wrong if x attends to itself and one matrix can hold all three, and right elsewhere."""

    def of(projected: Projected) -> list[Array]:
        if not projected.of_one_stream or len(set(projected.heads)) > 1:
            return projected.each(reference.split_heads)
        return split(projected)

    return of


SPLIT = Decision(
    "split",
    "Which components of a projection belong to a head?",
    (
        standard("blocks", lambda projected: projected.each(reference.split_heads)),
        mistake("fused_qkv_layout", lambda projected: projected.each(_component_major), "component_major"),
        mistake("fused_qkv_layout", _thirds_read_by_heads, "thirds_read_by_heads"),
        mistake("fused_qkv_layout", _heads_read_by_thirds, "heads_read_by_thirds"),
        mistake("fused_qkv_layout", _of_itself(_thirds_read_by_heads), "thirds_read_by_heads_of_itself"),
        mistake("fused_qkv_layout", _of_itself(_heads_read_by_thirds), "heads_read_by_thirds_of_itself"),
        neighbour(
            "without_transpose",
            lambda projected: projected.each(_without_transpose),
            "(B, L, H·D) is reshaped to (B, H, L, D) without exchanging H and L",
        ),
    ),
)


def _reshaped(heads: Array) -> Array:
    batch, number, length, width = heads.shape
    return heads.reshape(batch, length, number * width)


def _merged_by_components(heads: Array) -> Array:
    return heads.transpose(0, 2, 3, 1).reshape(heads.shape[0], heads.shape[2], -1)


MERGE = Decision(
    "merge",
    "In which order do the heads' outputs stand side by side?",
    (
        standard("heads_after_each_other", reference.merge_heads),
        mistake("heads_merge_without_transpose", _reshaped),
        neighbour("component_major", _merged_by_components, "the heads' components are interleaved"),
        neighbour("heads_reversed", lambda heads: reference.merge_heads(heads[:, ::-1]), "the last head stands first"),
    ),
)


def _projected(x: Array, matrix: Array, bias: Array | None) -> Array:
    projected = x @ matrix
    return np.asarray(projected if bias is None else projected + bias)


def _not_projected(merged: Array, matrix: Array, bias: Array | None) -> Array:
    if merged.shape[-1] != matrix.shape[1]:
        raise NotDefined
    return merged if bias is None else merged + bias


def _transposed_out(merged: Array, matrix: Array, bias: Array | None) -> Array:
    if matrix.shape[0] != matrix.shape[1]:
        raise NotDefined
    return _projected(merged, matrix.T, bias)


OUTPUT_PROJECTION = Decision(
    "output_projection",
    "How is the output projected?",
    (
        standard("by_w_o", _projected),
        mistake("out_proj_missing", _not_projected, "bias_alone"),
        mistake("out_proj_missing", lambda merged, matrix, _: _not_projected(merged, matrix, None), "nothing"),
        mistake(
            "out_proj_bias_flag_ignored",
            lambda merged, matrix, bias: _projected(merged, matrix, np.ones(matrix.shape[1]) if bias is None else bias),
            "ones_for_no_bias",
        ),
        mistake("out_proj_bias_flag_ignored", lambda merged, matrix, _: _projected(merged, matrix, None), "no_bias"),
        neighbour("transposed", _transposed_out, "W_Oᵀ is used for W_O"),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the output of multi-head attention at a point of the family.

    What a layer adds to logits is a `bias`. A model's `between` makes of the heads of queries, keys and values those
    that attention gets, and its mask.
    """
    x, context, weights = arguments["x"], arguments["context"], arguments["weights"]
    heads = arguments["num_heads"]
    kv_heads = arguments.get("num_kv_heads") or weights.w_k.shape[1] * heads // weights.w_q.shape[1]
    named: Any = {role: (getattr(weights, f"w_{role}"), getattr(weights, f"b_{role}")) for role in "qkv"}
    itself = np.array_equal(x, context)
    named = point["biases"](point["projections"](named), itself)
    named, kv_heads = point["kv_weights"](named, heads, kv_heads)
    streams = point["streams"](x, context)
    query, key, value = (_projected(stream, *named[role]) for role, stream in zip("qkv", streams, strict=True))
    query, key, value = point["split"](Projected((query, key, value), (heads, kv_heads, kv_heads), itself))
    optional = {name: arguments[name] for name in ("mask", "is_causal", "bias", "dtype") if name in arguments}
    if arguments.get("between") is not None:
        query, key, value, optional["mask"] = arguments["between"](query, key, value)
    attended = point.part("attention").compute({"query": query, "key": key, "value": value, **optional})
    return np.asarray(point["output_projection"](point["merge"](attended), weights.w_o, weights.b_o))


# Features without an argument of the inner attention cannot go wrong there; the blocks and the rounding of a kernel
# show in attention alone, and are too many to try with every projection.
WITHIN = ATTENTION.without(
    "softcap",
    "bias",
    "window",
    "window_counting",
    "sinks",
    "order_of_steps=softcap_vs_scale_order",
    "order_of_steps=softcap_after_bias",
    "order_of_steps=softcap_after_mask",
    "order_of_steps=softcap_again_after_mask",
    "order_of_steps=bias_before_scale",
    "order_of_steps=bias_scaled_as_well",
    "bias_heeded",
    "blocks",
    "products",
    "hidden_in_half",
    "scale=any_in_float16",
    "scale=any_in_bfloat16",
    "scale=given_ignored",
    "scale=given_beside_usual",
    "scale=given_divides",
    "mask_heeded=window_ignores_mask",
    "mask_heeded=mask_beside_bias_ignored",
    "causal_when=dropped_in_wide_window",
    "causal_when=dropped_in_any_window",
    "causal_beside_mask=causal_ignored_beside_bias",
    "causal_use=causal_mask_additive_offset_one",
)
MULTI_HEAD = Family(
    "multi_head_attention",
    (STREAMS, PROJECTIONS, BIASES, KV_WEIGHTS, SPLIT, MERGE, OUTPUT_PROJECTION),
    compute,
    {"attention": WITHIN},
    needs_dtype=True,
)
