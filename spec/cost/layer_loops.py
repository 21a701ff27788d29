"""Layers and models as loops over scalars, composed of those of `scalar_loops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veriformer.spec.cost.machine import INPUTS, PARAMETERS, Machine, Table
from veriformer.spec.cost.scalar_loops import added, feed_forward, layer_norm, multi_head_attention

Sublayer = Callable[[Table], Table]
LayerSizes = tuple[Any, Any, Any, Any]
"""E, H, D and F."""


def residual(
    machine: Machine, x: Table, sublayer: Sublayer, name: str, rows: Any, d_model: Any, norm_first: bool = False
) -> Table:
    """LN(x + f(x)), or x + f(LN(x))."""
    if norm_first:
        return added(machine, x, sublayer(layer_norm(machine, x, name, rows, d_model)), rows, d_model)
    return layer_norm(machine, added(machine, x, sublayer(x), rows, d_model), name, rows, d_model)


def encoder_layer(
    machine: Machine,
    x: Table,
    name: str,
    rows: Any,
    sizes: LayerSizes,
    kind: str = "relu",
    norm_first: bool = False,
) -> Table:
    """Self-attention, then the feed-forward network."""
    d_model, heads, width, d_ff = sizes

    def attend(read: Table) -> Table:
        return multi_head_attention(machine, read, read, name, (rows, rows, d_model, heads, heads, width))

    def transform(read: Table) -> Table:
        return feed_forward(machine, read, name, rows, d_model, d_ff, kind)

    attended = residual(machine, x, attend, f"{name}1", rows, d_model, norm_first)
    return residual(machine, attended, transform, f"{name}2", rows, d_model, norm_first)


def decoder_layer(
    machine: Machine, x: Table, memory: Table, name: str, lengths: tuple[Any, Any], sizes: LayerSizes
) -> Table:
    """Self-attention, attention to the memory, then the feed-forward network."""
    d_model, heads, width, d_ff = sizes
    rows, keys = lengths

    def attend(read: Table) -> Table:
        return multi_head_attention(machine, read, read, f"{name}self_", (rows, rows, d_model, heads, heads, width))

    def attend_to_memory(read: Table) -> Table:
        return multi_head_attention(machine, read, memory, f"{name}cross_", (rows, keys, d_model, heads, heads, width))

    def transform(read: Table) -> Table:
        return feed_forward(machine, read, name, rows, d_model, d_ff)

    for place, sublayer in enumerate((attend, attend_to_memory, transform), 1):
        x = residual(machine, x, sublayer, f"{name}{place}", rows, d_model)
    return x


def decode_step(machine: Machine, x: Table, tokens: Any, sizes: LayerSizes) -> Table:
    """One layer for token number t, given keys and values of the t − 1 tokens before it."""
    d_model, heads, width, d_ff = sizes
    cached = [machine.table(INPUTS, f"cached_{kept}", tokens - 1, heads * width) for kept in ("keys", "values")]

    def attend(read: Table) -> Table:
        shape = (1, tokens, d_model, heads, heads, width)
        return multi_head_attention(machine, read, read, "", shape, cached=cached)

    def transform(read: Table) -> Table:
        return feed_forward(machine, read, "", 1, d_model, d_ff)

    attended = residual(machine, x, attend, "1", 1, d_model)
    return residual(machine, attended, transform, "2", 1, d_model)


def embedding(machine: Machine, table: Table, rows: Any, d_model: Any) -> Table:
    """√d_model times the token's row, plus the row of its position."""
    positions, scale = machine.table(INPUTS, "positions", rows, d_model), machine.constant(d_model**0.5)
    result = machine.table()
    for row in machine.loop(rows):
        for place in machine.loop(d_model):
            result[row, place] = table[machine.token(row), place] * scale + positions[row, place]
    return result


def language_model(machine: Machine, rows: Any, layers: Any, vocabulary: Any, sizes: LayerSizes) -> Table:
    """Embedding, pre-norm layers with GELU, a last norm, and the logits by the same table."""
    d_model = sizes[0]
    table = machine.table(PARAMETERS, "table", vocabulary, d_model)
    x = embedding(machine, table, rows, d_model)
    for layer in machine.loop(layers):
        x = encoder_layer(machine, x, f"{layer}.", rows, sizes, "gelu", norm_first=True)
    x = layer_norm(machine, x, "last", rows, d_model)
    return logits(machine, x, table, rows, d_model, vocabulary)


def encoder_decoder(
    machine: Machine, lengths: tuple[Any, Any], layers: Any, vocabulary: Any, sizes: LayerSizes
) -> Table:
    """S source and L target tokens: two embeddings and the logits by one table, post-norm layers."""
    rows, keys = lengths
    d_model = sizes[0]
    table = machine.table(PARAMETERS, "table", vocabulary, d_model)
    memory, x = embedding(machine, table, keys, d_model), embedding(machine, table, rows, d_model)
    for layer in machine.loop(layers):
        memory = encoder_layer(machine, memory, f"encoder.{layer}.", keys, sizes)
    for layer in machine.loop(layers):
        x = decoder_layer(machine, x, memory, f"decoder.{layer}.", lengths, sizes)
    return logits(machine, x, table, rows, d_model, vocabulary)


def logits(machine: Machine, x: Table, table: Table, rows: Any, d_model: Any, vocabulary: Any) -> Table:
    """X times the transposed table."""
    result = machine.table()
    for row in machine.loop(rows):
        for word in machine.loop(vocabulary):
            entry = machine.constant(0)
            for place in machine.loop(d_model):
                entry = entry + x[row, place] * table[word, place]
            result[row, word] = entry
    return result
