"""The cost of decoding with and without a cache, and the size of the cache.

A layer's cost is a per token plus b per pair of a query and a key (derivation `cost`): a pass over t tokens costs
a t + b t², a step that adds the t-th token to a cache a + b t.
"""

from __future__ import annotations

from veriformer.spec.cost.count import Count, exact_quotient
from veriformer.spec.cost.operations import feed_forward, layer_norm, linear, pairs, triangle


def layer_per_token(d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu") -> Count:
    """a: everything in a layer but the pairs of attention, for one token."""
    projections = 3 * linear(1, d_model, heads * width) + linear(1, heads * width, d_model)
    sublayers = projections + feed_forward(1, d_model, d_ff, activation)
    return sublayers + 2 * (layer_norm(1, d_model) + Count(d_model))


def layer_per_pair(heads: int, width: int) -> Count:
    """b: one pair of a query and a key, in all heads."""
    return heads * pairs(1, width, width)


def decode_step(tokens: int, d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu") -> Count:
    """One layer of the step that adds token number t to a cache of t − 1."""
    return layer_per_token(d_model, heads, width, d_ff, activation) + tokens * layer_per_pair(heads, width)


def decode_with_cache(
    tokens: int, layers: int, d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu"
) -> Count:
    """T tokens, one at a time: Σ (a + b t) = a T + b T (T + 1)/2 for each layer."""
    per_token = layer_per_token(d_model, heads, width, d_ff, activation)
    return layers * (tokens * per_token + triangle(tokens) * layer_per_pair(heads, width))


def decode_without_cache(
    tokens: int, layers: int, d_model: int, heads: int, width: int, d_ff: int, activation: str = "relu"
) -> Count:
    """T passes, over 1, 2, …, T tokens: Σ (a t + b t²) = a T (T + 1)/2 + b T (T + 1)(2T + 1)/6 for each layer."""
    per_token = layer_per_token(d_model, heads, width, d_ff, activation)
    squares = exact_quotient(tokens * (tokens + 1) * (2 * tokens + 1), 6)
    return layers * (triangle(tokens) * per_token + squares * layer_per_pair(heads, width))


def cache_numbers(tokens: int, layers: int, kv_heads: int, width: int) -> int:
    """Keys and values of every token, key/value head and layer: 2 T G D · layers."""
    return 2 * tokens * kv_heads * width * layers


def cache_bytes(tokens: int, layers: int, kv_heads: int, width: int, bytes_per_number: int) -> int:
    """The bytes of the cache of one sequence."""
    return cache_numbers(tokens, layers, kv_heads, width) * bytes_per_number
