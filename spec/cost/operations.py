"""The scalar operations of every operation of a Transformer, as formulas in its sizes.

L queries, S keys, E = d_model, H query heads, G key/value heads, D and Dv the widths of a key and a value head, F the
hidden width of the feed-forward network, N the vocabulary. Batch: multiply by B. Every formula is derived in the
derivation `cost` by counting the operations of scalar loops; it also accepts SymPy symbols.
"""

from __future__ import annotations

from veriformer.spec.cost.count import Count, exact_quotient

ACTIVATIONS = {"relu": Count(1, 0), "gelu": Count(4, 1), "silu": Count(3, 1)}
"""ReLU max(x, 0); GELU x·(1 + erf(x·√½))·½; SiLU x/(1 + e^(−x))."""


def linear(rows: int, inner: int, columns: int, bias: bool = True) -> Count:
    """X W + b with X (rows, inner) and W (inner, columns)."""
    return Count(2 * rows * inner * columns + (rows * columns if bias else 0))


def softmax(rows: int, columns: int) -> Count:
    """Each row's maximum, difference, exponential, sum and quotient."""
    return rows * columns * Count(4, 1)


def attention(heads: int, queries: int, keys: int, width: int, value_width: int) -> Count:
    """Logits, scaling, softmax and weighted values, for all L S pairs of each head, masked or not."""
    return heads * pairs(queries * keys, width, value_width)


def causal_attention(heads: int, queries: int, cached: int, width: int, value_width: int) -> Count:
    """The same for the visible pairs only: L new tokens after P cached ones make L P + L (L + 1)/2."""
    visible = queries * cached + triangle(queries)
    return heads * pairs(visible, width, value_width)


def pairs(number: int, width: int, value_width: int) -> Count:
    """The cost of a pair of a query and a key: 2D + 1 for the logit, 5 for softmax, 2Dv for the value."""
    return number * Count(2 * width + 2 * value_width + 5, 1)


def multi_head_attention(
    queries: int, keys: int, d_model: int, heads: int, kv_heads: int, width: int, bias: bool = True
) -> Count:
    """The four projections and attention; L queries, S keys, H·D and G·D columns."""
    return (
        linear(queries, d_model, heads * width, bias)
        + 2 * linear(keys, d_model, kv_heads * width, bias)
        + attention(heads, queries, keys, width, width)
        + linear(queries, heads * width, d_model, bias)
    )


def feed_forward(rows: int, d_model: int, d_ff: int, activation: str = "relu", bias: bool = True) -> Count:
    """activation(x W_1 + b_1) W_2 + b_2."""
    hidden = linear(rows, d_model, d_ff, bias) + rows * d_ff * ACTIVATIONS[activation]
    return hidden + linear(rows, d_ff, d_model, bias)


def gated_feed_forward(rows: int, d_model: int, d_ff: int, activation: str = "silu") -> Count:
    """(activation(x W_gate) ⊙ x W_up) W_down."""
    hidden = 2 * linear(rows, d_model, d_ff, bias=False) + rows * d_ff * (ACTIVATIONS[activation] + Count(1))
    return hidden + linear(rows, d_ff, d_model, bias=False)


def layer_norm(rows: int, d_model: int) -> Count:
    """Mean, deviations, variance, √(v + ε), quotient, gain and offset."""
    return rows * Count(7 * d_model + 3, 1)


def rms_norm(rows: int, d_model: int) -> Count:
    """Mean square, √(m + ε), quotient and gain."""
    return rows * Count(4 * d_model + 2, 1)


def embedding(rows: int, d_model: int) -> Count:
    """A row of the table for each token, times √d_model, plus a row of positions."""
    return Count(2 * rows * d_model)


def encoder_layer(queries: int, d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu") -> Count:
    """Self-attention and feed-forward network, each with its norm and residual connection."""
    return (
        multi_head_attention(queries, queries, d_model, heads, heads, width)
        + feed_forward(queries, d_model, d_ff, activation)
        + 2 * (layer_norm(queries, d_model) + Count(queries * d_model))
    )


def decoder_layer(
    queries: int, keys: int, d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu"
) -> Count:
    """An encoder layer with attention to S rows of memory, its norm and its residual connection."""
    cross = multi_head_attention(queries, keys, d_model, heads, heads, width)
    layer = encoder_layer(queries, d_model, heads, width, d_ff, activation)
    return layer + cross + layer_norm(queries, d_model) + Count(queries * d_model)


def language_model(
    queries: int, layers: int, d_model: int, heads: int, width: int, d_ff: int, vocabulary: int
) -> Count:
    """Embedding, layers with GELU, a last norm and the logits of every token, without a bias."""
    return (
        embedding(queries, d_model)
        + layers * encoder_layer(queries, d_model, heads, width, d_ff, "gelu")
        + layer_norm(queries, d_model)
        + linear(queries, d_model, vocabulary, bias=False)
    )


def triangle(number: int) -> int:
    """1 + 2 + … + n."""
    return exact_quotient(number * (number + 1), 2)
