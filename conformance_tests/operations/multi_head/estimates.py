"""Rounding errors carried on through multi-head attention."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.estimates import attended
from veriformer.conformance_tests.rounding.estimates import Estimate, Turn, projected
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import EmptyRow
from veriformer.reference.weights import HasMultiHeadWeights


def multi_head_attended(
    x: Estimate,
    context: Estimate,
    weights: HasMultiHeadWeights,
    visible: Array,
    precision: Precision,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    bias: Array | None = None,
    turn: Turn | None = None,
    empty_row: EmptyRow = "zeros",
) -> Estimate:
    """Return multi-head attention of x (B, L, E) to context (B, S, E); self-attention has the context x.

    Projections split into heads, attention over the visible keys, bool (B, H, L, S), heads merged and projected; `turn`
    is applied to the heads of queries and keys.
    """
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads

    def heads(one: Estimate, weight: Array, shift: Array | None, count: int) -> Estimate:
        return projected(one, weight, shift, precision).mapped(lambda wide: reference.split_heads(wide, count))

    query = heads(x, weights.w_q, weights.b_q, num_heads)
    key = heads(context, weights.w_k, weights.b_k, kv_heads)
    value = heads(context, weights.w_v, weights.b_v, kv_heads)
    if turn is not None:
        query, key = turn(query), turn(key)
    output = attended(query, key, value, visible, precision, bias=bias, empty_row=empty_row)
    return projected(output.mapped(reference.merge_heads), weights.w_o, weights.b_o, precision)
