"""The numbers that an operation must read and write, as formulas in its sizes (see `operations` for the letters)."""

from __future__ import annotations

from veriformer.spec.cost import parameters
from veriformer.spec.cost.count import Traffic


def linear(rows: int, inner: int, columns: int, bias: bool = True) -> Traffic:
    """X, W and b in, X W + b out."""
    return Traffic(rows * inner, parameters.linear(inner, columns, bias), rows * columns)


def softmax(rows: int, columns: int) -> Traffic:
    """As many numbers out as in."""
    return Traffic(rows * columns, 0, rows * columns)


def attention(heads: int, kv_heads: int, queries: int, keys: int, width: int, value_width: int) -> Traffic:
    """Queries, keys and values in, outputs out; the L S logits of a head need not leave the processor."""
    inputs = heads * queries * width + kv_heads * keys * (width + value_width)
    return Traffic(inputs, 0, heads * queries * value_width)


def multi_head_attention(
    queries: int, keys: int, d_model: int, heads: int, kv_heads: int, width: int, bias: bool = True
) -> Traffic:
    """X and context in, with the weights; x and context are counted apart."""
    weights = parameters.multi_head_attention(d_model, heads, kv_heads, width, bias)
    return Traffic((queries + keys) * d_model, weights, queries * d_model)


def feed_forward(rows: int, d_model: int, d_ff: int, bias: bool = True) -> Traffic:
    """The hidden units need not leave the processor."""
    return Traffic(rows * d_model, parameters.feed_forward(d_model, d_ff, bias), rows * d_model)


def gated_feed_forward(rows: int, d_model: int, d_ff: int) -> Traffic:
    """The same with three matrices."""
    return Traffic(rows * d_model, parameters.gated_feed_forward(d_model, d_ff), rows * d_model)


def layer_norm(rows: int, d_model: int) -> Traffic:
    """Rows, gain and offset in, rows out."""
    return Traffic(rows * d_model, parameters.layer_norm(d_model), rows * d_model)


def rms_norm(rows: int, d_model: int) -> Traffic:
    """Rows and gain in, rows out."""
    return Traffic(rows * d_model, d_model, rows * d_model)


def encoder_layer(queries: int, d_model: int, heads: int, width: int, d_ff: int) -> Traffic:
    """X and the weights in, x out."""
    weights = parameters.encoder_layer(d_model, heads, width, d_ff)
    return Traffic(queries * d_model, weights, queries * d_model)


def decoder_layer(queries: int, keys: int, d_model: int, heads: int, width: int, d_ff: int) -> Traffic:
    """x, the memory and the weights in, x out."""
    weights = parameters.decoder_layer(d_model, heads, width, d_ff)
    return Traffic((queries + keys) * d_model, weights, queries * d_model)


def embedding(rows: int, d_model: int) -> Traffic:
    """A row of positions and a row of the table for each token in, as many rows out; equal tokens share their row."""
    return Traffic(rows * d_model, rows * d_model, rows * d_model)


def language_model(
    queries: int, layers: int, d_model: int, heads: int, width: int, d_ff: int, vocabulary: int
) -> Traffic:
    """Positions and all parameters in, logits out."""
    weights = parameters.language_model(layers, d_model, heads, width, d_ff, vocabulary)
    return Traffic(queries * d_model, weights, queries * vocabulary)


def decode_step(tokens: int, d_model: int, heads: int, width: int, d_ff: int) -> Traffic:
    """One layer for token number t: its input, t − 1 cached keys and values, weights; its output, key and value."""
    weights = parameters.encoder_layer(d_model, heads, width, d_ff)
    return Traffic(d_model + 2 * (tokens - 1) * heads * width, weights, d_model + 2 * heads * width)
