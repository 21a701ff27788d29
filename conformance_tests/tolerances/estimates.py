"""Rounding errors carried on through a composition of operations: through layers, and through whole models.

An estimate is a value, as the reference computes it, and a bound of how far a correct implementation may be from it
there. Each step takes estimates and returns one: its bound is that of its own rounding errors, made at the wrong
argument, plus what becomes of the argument's error. Every step bounds |f̂(x̂) − f(x)| by
|f̂(x̂) − f(x̂)| + |f(x̂) − f(x)| for every x̂ with |x̂ − x| ≤ δ, with nothing left out as of higher order, so that bounds
hold in 16 bits too, where δ is not small. What a step cannot exceed clips it (a softmax, a norm): bounds stay finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.tolerances.activations import activation_bound
from veriformer.conformance_tests.tolerances.attention import AttentionTerms, attention_bound
from veriformer.conformance_tests.tolerances.embedding import embedding_bound
from veriformer.conformance_tests.tolerances.feed_forward import feed_forward_bound, gated_feed_forward_bound
from veriformer.conformance_tests.tolerances.normalisation import layer_norm_bound, rms_norm_bound
from veriformer.conformance_tests.tolerances.precision import Precision
from veriformer.conformance_tests.tolerances.projections import projection_bound
from veriformer.conformance_tests.tolerances.rotary import rotary_bound
from veriformer.conformance_tests.tolerances.softmax import softmax_over
from veriformer.reference.conventions import Activation, EmptyRow, EpsPlacement, GeluForm, RmsNormGain, RotaryPairing
from veriformer.reference.weights import HasFeedForwardWeights, HasGatedFeedForwardWeights, HasMultiHeadWeights

Array = np.ndarray


@dataclass(frozen=True)
class Estimate:
    """An exact value, and how far from it a correct implementation may be, entry by entry."""

    value: Array
    error: Array

    @classmethod
    def exact(cls, value: Array) -> Estimate:
        """Return the estimate of what is given: inputs and weights."""
        return cls(value, np.zeros(value.shape))

    def mapped(self, moved: Callable[[Array], Array]) -> Estimate:
        """Return the estimate after entries were moved, repeated or left out, which rounds nothing."""
        return Estimate(moved(self.value), moved(self.error))


# How a model turns the queries and keys of its heads; None where positions are added to the embedding.
Turn = Callable[[Estimate], Estimate]


def embedded(tokens: Array, table: Array, precision: Precision, *, scale_by_sqrt_d_model: bool = False) -> Estimate:
    """Return the vectors of tokens (..., L): copies, unless they are scaled (see `embedding_bound`)."""
    value = reference.token_embedding(tokens, table, scale_by_sqrt_d_model=scale_by_sqrt_d_model)
    return Estimate(value, embedding_bound(value, precision)) if scale_by_sqrt_d_model else Estimate.exact(value)


def added(one: Estimate, other: Estimate, precision: Precision) -> Estimate:
    """Return a sum: |δ(x + y)| ≤ |δx| + |δy| + u (|x + y| + |δx| + |δy|); underflow does not harm sums."""
    value, error = one.value + other.value, one.error + other.error
    return Estimate(value, error + precision.stored * (np.abs(value) + error))


def scaled(x: Estimate, factor: float, precision: Precision) -> Estimate:
    """Return a multiple: |δ(c x)| ≤ |c| |δx| + 3u |c| (|x| + |δx|) + tiny: a root, the rounded factor, the product."""
    value, error = factor * x.value, abs(factor) * x.error
    return Estimate(value, error + 3.0 * precision.stored * (np.abs(value) + error) + precision.tiny)


def projected(x: Estimate, weight: Array, bias: Array | None, precision: Precision) -> Estimate:
    """Return x W + b: see `projection_bound`."""
    value = x.value @ weight if bias is None else x.value @ weight + bias
    return Estimate(value, projection_bound(x.value, weight, bias, precision, x.error))


def unembedded(x: Estimate, table: Array, precision: Precision) -> Estimate:
    """Return logits x Tᵀ (..., N), of a table of tokens' vectors (N, E)."""
    return projected(x, table.T, None, precision)


def activated(x: Estimate, activation: Activation, precision: Precision, *, gelu_form: GeluForm = "erf") -> Estimate:
    """Return an activation function of each entry: see `activation_bound`."""
    value = reference.activate(activation, x.value, gelu_form=gelu_form)
    return Estimate(value, activation_bound(activation, gelu_form, x.value, precision, x.error))


def fed_forward(
    x: Estimate,
    weights: HasFeedForwardWeights,
    activation: Activation,
    precision: Precision,
    *,
    gelu_form: GeluForm = "erf",
) -> Estimate:
    """Return what a feed-forward network makes of x: see `feed_forward_bound`."""
    value = reference.feed_forward(x.value, weights, activation=activation, gelu_form=gelu_form)
    return Estimate(value, feed_forward_bound(x.value, weights, activation, gelu_form, precision, x.error))


def gated_fed_forward(
    x: Estimate,
    weights: HasGatedFeedForwardWeights,
    activation: Activation,
    precision: Precision,
    *,
    gelu_form: GeluForm = "erf",
) -> Estimate:
    """Return what a gated feed-forward network makes of x: see `gated_feed_forward_bound`."""
    value = reference.gated_feed_forward(x.value, weights, activation=activation, gelu_form=gelu_form)
    return Estimate(value, gated_feed_forward_bound(x.value, weights, activation, gelu_form, precision, x.error))


def layer_normalised(
    x: Estimate,
    gamma: Array,
    beta: Array,
    eps: float,
    precision: Precision,
    *,
    eps_placement: EpsPlacement = "inside_root",
) -> Estimate:
    """Return a layer normalisation: see `layer_norm_bound` and `carried_error`."""
    value = reference.layer_norm(x.value, gamma, beta, eps=eps, eps_placement=eps_placement)
    inside_root = eps_placement == "inside_root"
    error = layer_norm_bound(x.value, gamma, beta, eps, precision, x.error, inside_root=inside_root)
    return Estimate(value, error)


def rms_normalised(
    x: Estimate, gamma: Array, eps: float, precision: Precision, *, gain: RmsNormGain = "gamma"
) -> Estimate:
    """Return a root-mean-square normalisation, eps > 0: see `rms_norm_bound` and `carried_error`."""
    value = reference.rms_norm(x.value, gamma, eps=eps, gain=gain)
    factor = gamma if gain == "gamma" else 1.0 + gamma
    return Estimate(value, rms_norm_bound(x.value, factor, eps, precision, x.error))


def rotated(
    x: Estimate,
    positions: Array,
    precision: Precision,
    *,
    base: float = 10000.0,
    rotary_dim: int | None = None,
    pairing: RotaryPairing = "interleaved",
) -> Estimate:
    """Return heads (B, H, L, D) with rotary positions: see `rotary_bound`. What does not turn keeps its error."""
    value = reference.rotary_embedding(x.value, positions, base=base, rotary_dim=rotary_dim, pairing=pairing)
    turned = x.value.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = reference.rotary_frequencies(turned, base=base)
    angles = np.atleast_2d(positions)[:, None, :, None] * frequencies
    first, second = reference.pair_places(turned, pairing)
    errors = (x.error[..., first], x.error[..., second])
    bound = rotary_bound(x.value[..., first], x.value[..., second], angles, frequencies, precision, errors)
    error = x.error.copy()
    error[..., first] = error[..., second] = bound
    return Estimate(value, error)


def attended(
    query: Estimate,
    key: Estimate,
    value: Estimate,
    visible: Array,
    precision: Precision,
    *,
    bias: Array | None = None,
    empty_row: EmptyRow = "zeros",
) -> Estimate:
    """Return attention of heads (B, H, …) over the visible keys, bool (B, H, L, S): see `attention_bound`.

    Keys and values may have fewer heads than queries, each shared by several in a row. A row without a visible key
    has no weights, or equal ones where the convention is the mean of all values.
    """
    group = query.value.shape[1] // key.value.shape[1]
    key, value = (one.mapped(lambda heads: np.repeat(heads, group, axis=1)) for one in (key, value))
    logits = reference.attention_logits(query.value, key.value, bias=bias)
    logits, visible, weights = softmax_over(logits, visible, empty_row)
    output = reference.weighted_sum(weights, value.value, visible)
    scale = 1.0 / math.sqrt(query.value.shape[-1])
    terms = AttentionTerms(
        query.value, key.value, value.value, scale, logits, weights, output, query.error, key.error, value.error
    )
    return Estimate(output, attention_bound(terms, precision))


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
