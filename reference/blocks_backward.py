"""The backward passes of the parts of which whole Transformers are composed, by configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64, Int
from veriformer.reference.blocks import Model
from veriformer.reference.embedding_backward import token_embedding_backward
from veriformer.reference.feed_forward_backward import (
    feed_forward_backward,
    gated_feed_forward_backward,
    matrix_gradient,
)
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.grouped_query_backward import grouped_query_attention_backward
from veriformer.reference.layer_weights import EncoderLayerWeights, NormWeights
from veriformer.reference.model_weights import GainWeights, GatedLayerWeights
from veriformer.reference.multi_head_backward import (
    Attended,
    Heads,
    Keys,
    Queries,
    Values,
    between_projections_backward,
)
from veriformer.reference.normalisation_backward import layer_norm_backward, rms_norm_backward
from veriformer.reference.rotary import rotary_embedding
from veriformer.reference.rotary_backward import rotary_embedding_backward
from veriformer.reference.sublayers_backward import (
    Differentiable,
    Memory,
    Passed,
    Stream,
    by_context,
    encoder_layer_back,
)
from veriformer.reference.weights import MultiHeadWeights


@dataclass(frozen=True)
class Embedded:
    """The gradients of a table of tokens, of one of positions, and of the norm after both; None where there is none.

    Shapes: table (N, E), positions (max_length, E).
    Raises: nothing.
    Source: Phuong & Hutter 2022, algorithms 1 and 2, differentiated.
    """

    table: Float64[Array, "N E"]
    positions: Float64[Array, "max_length E"] | None
    norm: Any


@dataclass(frozen=True)
class ModelBackward:
    """The parts of a model with a configuration and conventions, backwards: each as its forward pass in `Model`.

    Shapes: those of each method.
    Raises: ValueError when an array does not fit.
    Source: Phuong & Hutter 2022, algorithms 1 to 10, differentiated.
    """

    model: Model

    @property
    def norm_first(self) -> bool:
        """Whether norms come before the sublayers, and not after the sums."""
        return self.model.config.norm_first

    def norm(self, weights: Any) -> Differentiable:
        """Return the architecture's norm; where it has none, the identity, whose weights have no gradient."""
        return Differentiable(lambda y: self.model.normalise(y, weights), lambda y, g: self._norm_back(y, weights, g))

    def _norm_back(self, y: Stream, weights: Any, gradient: Stream) -> tuple[Stream, Any]:
        if weights is None:
            return gradient, None
        config, conventions = self.model.config, self.model.conventions
        if config.norm == "rms_norm":
            of_y, gain = rms_norm_backward(y, weights.gamma, gradient, eps=config.eps, gain=conventions.rms_norm_gain)
            return of_y, GainWeights(gain)
        of_y, gain, shift = layer_norm_backward(
            y, weights.gamma, weights.beta, gradient, eps=config.eps, eps_placement=conventions.layer_norm_eps
        )
        return of_y, NormWeights(gain, shift)

    def network(self, weights: Any) -> Differentiable:
        """Return the architecture's feed-forward network."""
        settings: dict[str, Any] = {
            "activation": self.model.config.activation,
            "gelu_form": self.model.conventions.gelu_form,
        }
        network_back: Any = gated_feed_forward_backward if self.model.config.gated else feed_forward_backward
        return Differentiable(
            lambda y: self.model.transform(y, weights), lambda y, g: network_back(y, weights, g, **settings)
        )

    def attention(
        self,
        weights: Any,
        mask: Bool[Array, "#B 1 #L #S"] | None,
        memory: Memory | None = None,
    ) -> Differentiable:
        """Return attention of a stream to itself, or to a memory, whose gradient then comes with the weights'."""

        def forward(y: Stream) -> Stream:
            return self.model.attend(y, y if memory is None else memory, weights, mask, places=self._places(y))[0]

        def backward(y: Stream, gradient: Stream) -> tuple[Stream, Any]:
            context = y if memory is None else memory
            return by_context(memory, self._attend_back(y, context, weights, mask, gradient))

        return Differentiable(forward, backward)

    def _places(self, y: Stream) -> Int[Array, " L"] | None:
        return np.arange(y.shape[1]) if self.model.config.positions == "rotary" else None

    def _attend_back(
        self, x: Stream, context: Memory, weights: Any, mask: Any, gradient: Stream
    ) -> tuple[Stream, Memory, MultiHeadWeights]:
        config, places = self.model.config, self._places(x)
        turning: dict[str, Any] = {"base": config.rotary_base, "pairing": self.model.conventions.rotary_pairing}

        def attend(query: Queries, key: Keys, value: Values, grad_heads: Heads) -> Attended:
            if places is None:
                turned = query, key
            else:
                turned = rotary_embedding(query, places, **turning), rotary_embedding(key, places, **turning)
            heads = grouped_query_attention(*turned, value, mask=mask)
            of_query, of_key, of_value = grouped_query_attention_backward(*turned, value, grad_heads, mask=mask)
            if places is not None:
                of_query = rotary_embedding_backward(query, places, of_query, **turning)
                of_key = rotary_embedding_backward(key, places, of_key, **turning)
            return heads, (of_query, of_key, of_value)

        sizes = config.num_heads, config.num_kv_heads
        return between_projections_backward(x, context, weights, gradient, attend, *sizes)

    def layer_back(self, passed: Sequence[Passed], gradient: Stream) -> tuple[Stream, Any]:
        """Return the gradients of the stream and of the weights of an encoder's layer, or a language model's."""
        of_x, found = encoder_layer_back(passed, gradient)
        return of_x, GatedLayerWeights(*found) if self.model.config.gated else EncoderLayerWeights(*found)

    def embed(
        self,
        tokens: Int[Array, "B L"],
        table: Float[Array, "N E"],
        positions: Float[Array, "max_length E"] | None,
        norm: Any,
        gradient: Stream,
    ) -> Embedded:
        """Return the gradients of the tables; each row of the positions gets the sum over the samples."""
        before = self.model.embed(tokens, table, positions, None)
        gradient, of_norm = self._norm_back(before, norm, gradient)
        scaled = self.model.config.scale_embedding
        of_table = token_embedding_backward(tokens, table, gradient, scale_by_sqrt_d_model=scaled)
        of_positions = None
        if positions is not None:
            of_positions = np.zeros_like(positions, dtype=np.float64)
            of_positions[: tokens.shape[1]] = gradient.sum(axis=0)
        return Embedded(of_table, of_positions, of_norm)

    def unembed(
        self,
        x: Stream,
        table: Float[Array, "N E"],
        unembedding: Float[Array, "E N"] | None,
        gradient: Float64[Array, "B L N"],
    ) -> tuple[Stream, Float64[Array, "N E"] | None, Float64[Array, "E N"] | None]:
        """Return the gradients of the stream, of the table where it is tied, and of the unembedding where not."""
        if unembedding is None:
            return np.asarray(gradient @ np.asarray(table)), matrix_gradient(gradient, x), None
        return np.asarray(gradient @ np.asarray(unembedding).T), None, matrix_gradient(x, gradient)
