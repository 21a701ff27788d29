"""How many parameters the layers and the models have."""

from __future__ import annotations

from typing import NamedTuple


class ModelSizes(NamedTuple):
    """The sizes of an encoder-decoder model whose heads are d_model/heads wide."""

    layers: int
    d_model: int
    heads: int
    d_ff: int
    vocabulary: int


BASE_2017 = ModelSizes(layers=6, d_model=512, heads=8, d_ff=2048, vocabulary=37000)
"""The base model of Vaswani et al. 2017, table 3; section 5.1: a shared vocabulary of about 37,000 tokens."""

BIG_2017 = ModelSizes(layers=6, d_model=1024, heads=16, d_ff=4096, vocabulary=37000)
"""The big model of the same table."""


def linear(inner: int, columns: int, bias: bool = True) -> int:
    """W (inner, columns) and b (columns)."""
    return inner * columns + (columns if bias else 0)


def multi_head_attention(d_model: int, heads: int, kv_heads: int, width: int, bias: bool = True) -> int:
    """W_Q, W_K, W_V and W_O with their biases."""
    keys_and_values = 2 * linear(d_model, kv_heads * width, bias)
    return linear(d_model, heads * width, bias) + keys_and_values + linear(heads * width, d_model, bias)


def feed_forward(d_model: int, d_ff: int, bias: bool = True) -> int:
    """W_1 and W_2 with their biases."""
    return linear(d_model, d_ff, bias) + linear(d_ff, d_model, bias)


def gated_feed_forward(d_model: int, d_ff: int) -> int:
    """W_gate, W_up and W_down."""
    return 3 * d_model * d_ff


def layer_norm(d_model: int) -> int:
    """Gain and offset."""
    return 2 * d_model


def encoder_layer(d_model: int, heads: int, width: int, d_ff: int) -> int:
    """Attention, feed-forward network and two norms."""
    attention = multi_head_attention(d_model, heads, heads, width)
    return attention + feed_forward(d_model, d_ff) + 2 * layer_norm(d_model)


def decoder_layer(d_model: int, heads: int, width: int, d_ff: int) -> int:
    """An encoder layer with cross-attention and its norm."""
    cross = multi_head_attention(d_model, heads, heads, width)
    return encoder_layer(d_model, heads, width, d_ff) + cross + layer_norm(d_model)


def encoder_decoder(layers: int, d_model: int, heads: int, width: int, d_ff: int, vocabulary: int) -> int:
    """As many encoder as decoder layers, and one table for source, target and logits (tied), without a bias.

    Positions are sinusoidal and have no parameters; the norms are post-norm, without one after the stack.
    """
    layer = encoder_layer(d_model, heads, width, d_ff) + decoder_layer(d_model, heads, width, d_ff)
    return layers * layer + vocabulary * d_model


def language_model(layers: int, d_model: int, heads: int, width: int, d_ff: int, vocabulary: int) -> int:
    """A table that also gives the logits, layers without cross-attention, and a last norm."""
    return vocabulary * d_model + layers * encoder_layer(d_model, heads, width, d_ff) + layer_norm(d_model)


def of_model(sizes: ModelSizes) -> int:
    """The parameters of an encoder-decoder model."""
    width = sizes.d_model // sizes.heads
    return encoder_decoder(sizes.layers, sizes.d_model, sizes.heads, width, sizes.d_ff, sizes.vocabulary)
