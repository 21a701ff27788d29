"""Attention in blocks of queries and keys, in memory that grows with the lengths and not with their product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.attention import attention_logits
from veriformer.reference.checks import Sizes, as_axes, as_bias, as_mask, require_choice, require_count
from veriformer.reference.conventions import CausalAlignment, EmptyRow, WindowCounting
from veriformer.reference.merging import attention_over_part, merge_attention
from veriformer.reference.windows import Window, within_window


def blocked_attention(
    query: Float[Array, "B H L D"],
    key: Float[Array, "B H S D"],
    value: Float[Array, "B H S Dv"],
    *,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    bias: Float[Array, "#B #H #L #S"] | Float[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: Float[Array, " H"] | None = None,
    causal_alignment: CausalAlignment = "top_left",
    empty_row: EmptyRow = "zeros",
    window_counting: WindowCounting = "inclusive",
    block: int = 1024,
) -> Float64[Array, "B H L Dv"]:
    """Compute `scaled_dot_product_attention` without ever holding all its logits.

    (output, lse) = merge over the blocks of keys of (output, lse) over the block, for each block of queries

    Blocks in which causality or the window hides every key are not computed. A sink is a part of value 0.

    Shapes: as `scaled_dot_product_attention`; no array of the computation is larger than (B, H, block, block).
    Raises: ValueError when block is not an integer ≥ 1, and as `scaled_dot_product_attention`.
    Source: Rabe & Staats 2021, section 3; Dao et al. 2022, algorithm 1.
    Conventions: those of `scaled_dot_product_attention`.
    """
    sizes: Sizes = {}
    query = as_axes("query", query, "B H L D", sizes)
    key = as_axes("key", key, "B H S D", sizes)
    value = as_axes("value", value, "B H S Dv", sizes)
    require_count("block", block, 1)
    require_choice("causal_alignment", causal_alignment, CausalAlignment)
    require_choice("empty_row", empty_row, EmptyRow)
    shape = (*query.shape[:3], sizes["S"])
    tables = (None if mask is None else as_mask(mask, shape), None if bias is None else as_bias(bias, shape))
    offset = sizes["S"] - sizes["L"] if causal_alignment == "bottom_right" else 0
    output = np.empty((*query.shape[:3], sizes["Dv"]))
    for rows in _blocks(sizes["L"], block):
        own = np.arange(rows.start, rows.stop) + offset
        part = _nothing(query[:, :, rows], sizes["Dv"], sinks)
        for columns in _blocks(sizes["S"], block):
            near = _near(own, columns, is_causal, window, window_counting)
            if near.any():
                logits, visible = _block_of(query, key, rows, columns, tables, near, scale, softcap)
                part = merge_attention(*part, *attention_over_part(logits, visible, value[:, :, columns]))
        output[:, :, rows] = _with_empty_rows(*part, value, empty_row)
    return output


def _blocks(length: int, block: int) -> Iterator[slice]:
    return (slice(start, min(start + block, length)) for start in range(0, length, block))


def _nothing(query: Array, width: int, sinks: Array | None) -> tuple[Array, Array]:
    """Return the part without keys, in which only the sink has weight."""
    rows = query.shape[:3]
    column = np.full(rows[1], -np.inf) if sinks is None else as_axes("sinks", sinks, "H", {"H": rows[1]})
    return np.zeros((*rows, width)), np.broadcast_to(column[:, None], rows)


def _near(own: Array, columns: slice, is_causal: bool, window: Window | None, counting: WindowCounting) -> Array:
    """Return which keys of a block causality and window show, (queries, keys)."""
    keys = np.arange(columns.start, columns.stop)
    near = within_window(own, keys, (None, 0 if is_causal else None))
    return near if window is None else near & within_window(own, keys, window, counting)


def _block_of(
    query: Array,
    key: Array,
    rows: slice,
    columns: slice,
    tables: tuple[Array | None, Array | None],
    near: Array,
    scale: float | None,
    softcap: float | None,
) -> tuple[Array, Array]:
    """Return the logits of one block and which of them are visible, both (B, H, queries, keys)."""
    mask, bias = (None if table is None else _cut(table, rows, columns) for table in tables)
    logits = attention_logits(query[:, :, rows], key[:, :, columns], bias=bias, scale=scale, softcap=softcap)
    visible = np.broadcast_to(near, logits.shape)
    visible = visible if mask is None else visible & mask
    return logits, visible if bias is None else visible & (bias != -np.inf)


def _cut(table: Array, rows: slice, columns: slice) -> Array:
    """Return the block of a mask or bias, whose axes of length 1 apply to all."""
    table = table if table.shape[-2] == 1 else table[..., rows, :]
    return table if table.shape[-1] == 1 else table[..., columns]


def _with_empty_rows(output: Array, lse: Array, value: Array, empty_row: EmptyRow) -> Array:
    """Return the output with the convention's result for rows without a visible key and a sink."""
    empty = np.isneginf(lse)[..., None]
    if empty_row == "zeros" or not empty.any():
        return output
    keys = value.shape[2]
    mean = value.mean(axis=2, keepdims=True) if keys else np.zeros((*value.shape[:2], 1, value.shape[3]))
    return np.where(empty, np.nan if empty_row == "nan" else mean, output)
