"""Whole Transformers as estimates: the exact result and the error bound of a correct implementation. Each part is a
step of `rounding.estimates`, whose bounds propagate the error of the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding.estimates import embedded
from veriformer.conformance_tests.operations.feed_forward.estimates import fed_forward, gated_fed_forward
from veriformer.conformance_tests.operations.multi_head.estimates import multi_head_attended
from veriformer.conformance_tests.operations.normalisation.estimates import layer_normalised, rms_normalised
from veriformer.conformance_tests.operations.rotary.estimates import rotated
from veriformer.conformance_tests.operations.sinusoids.bounds import sinusoid_bound
from veriformer.conformance_tests.rounding.estimates import Estimate, added, projected, unembedded
from veriformer.conformance_tests.rounding.precision import Precision

Stack = reference.TransformerWeights
EncoderAndDecoder = reference.EncoderDecoderWeights


_CONVENTIONS = ("gelu_form", "rotary_pairing", "sinusoidal_layout", "layer_norm_eps", "rms_norm_gain")


def of_models(conventions: Conventions) -> reference.ModelConventions:
    """Return the conventions that bear on whole models."""
    return reference.ModelConventions(**{name: conventions[name] for name in _CONVENTIONS})


@dataclass(frozen=True)
class ModelEstimates:
    """The configuration, conventions and precision on which the estimates of a model's parts depend.

    Masks are boolean (B, 1, L, S), True at visible keys. A row that sees no key has no weights; if it is not compared,
    its contents are finite in the estimate and enter no other row.
    """

    config: reference.TransformerConfiguration
    conventions: reference.ModelConventions
    precision: Precision

    def embed(
        self, tokens: Array, table: Array, positions: Array | None, norm: Any, places: Array | None = None
    ) -> Estimate:
        """Return the sum of embeddings and of positions, 0, 1, … unless `places` (B, L) are given.

        It is normed where the architecture has a norm there.
        """
        config = self.config
        x = embedded(tokens, table, self.precision, scale_by_sqrt_d_model=config.scale_embedding)
        if config.positions == "sinusoidal":
            x = added(x, self._sinusoids(*tokens.shape), self.precision)
        elif positions is not None:
            rows = positions[np.arange(tokens.shape[1]) if places is None else places]
            x = added(x, Estimate.exact(np.broadcast_to(rows, x.value.shape)), self.precision)
        return self.normed(x, norm)

    def _sinusoids(self, batch: int, length: int) -> Estimate:
        """Return sinusoids, which an implementation may tabulate in float32 for any dtype and then round."""
        layout, width = self.conventions.sinusoidal_layout, self.config.d_model
        value = reference.sinusoidal_positions(length, width, layout=layout)
        pairs = sinusoid_bound(np.arange(length), reference.sinusoidal_frequencies(width), Precision.of("float32"))
        error = np.tile(pairs, 2) if layout == "concatenated" else np.repeat(pairs, 2, axis=-1)
        error = error + self.precision.stored * (np.abs(value) + error)
        shape = (batch, length, width)
        return Estimate(np.broadcast_to(value, shape), np.broadcast_to(error, shape))

    def normed(self, x: Estimate, norm: Any) -> Estimate:
        """Return the architecture's norm of x, or x itself if there is none."""
        if norm is None:
            return x
        eps = self.config.eps
        if self.config.norm == "rms_norm":
            return rms_normalised(x, norm.gamma, eps, self.precision, gain=self.conventions.rms_norm_gain)
        placement = self.conventions.layer_norm_eps
        return layer_normalised(x, norm.gamma, norm.beta, eps, self.precision, eps_placement=placement)

    def layer(self, x: Estimate, weights: Any, visible: Array, places: Array | None = None) -> Estimate:
        """Return an encoder's layer, or a language model's, whose mask is causal."""
        x = self._sublayer(x, weights.norm_1, lambda y: self.attended(y, y, weights.self_attention, visible, places))
        return self._sublayer(x, weights.norm_2, lambda y: self.transformed(y, weights.feed_forward))

    def decoder_layer(self, x: Estimate, memory: Estimate, weights: Any, visible: Array, seen: Array) -> Estimate:
        """Return a decoder's layer, which sees `seen` of the memory."""
        x = self._sublayer(x, weights.norm_1, lambda y: self.attended(y, y, weights.self_attention, visible))
        x = self._sublayer(x, weights.norm_2, lambda y: self.attended(y, memory, weights.cross_attention, seen))
        return self._sublayer(x, weights.norm_3, lambda y: self.transformed(y, weights.feed_forward))

    def logits(self, x: Estimate, weights: Stack | EncoderAndDecoder) -> Estimate:
        """Return products with the rows of the table where tied, with the unembedding otherwise."""
        if weights.unembedding is None:
            return unembedded(x, weights.embedding, self.precision)
        return projected(x, weights.unembedding, None, self.precision)

    def _sublayer(self, x: Estimate, norm: Any, function: Callable[[Estimate], Estimate]) -> Estimate:
        if self.config.norm_first:
            return added(x, function(self.normed(x, norm)), self.precision)
        return self.normed(added(x, function(x), self.precision), norm)

    def attended(
        self, x: Estimate, context: Estimate, weights: Any, visible: Array, places: Array | None = None
    ) -> Estimate:
        """Return attention of x to the context, whose keys are `visible`."""
        config = self.config

        def turn(heads: Estimate) -> Estimate:
            positions = np.arange(heads.value.shape[2]) if places is None else places
            pairing = self.conventions.rotary_pairing
            return rotated(heads, positions, self.precision, base=config.rotary_base, pairing=pairing)

        shape = (x.value.shape[0], config.num_heads, x.value.shape[1], context.value.shape[1])
        return multi_head_attended(
            x,
            context,
            weights,
            np.broadcast_to(visible, shape),
            self.precision,
            num_heads=config.num_heads,
            num_kv_heads=config.num_kv_heads,
            turn=turn if config.positions == "rotary" else None,
        )

    def transformed(self, x: Estimate, weights: Any) -> Estimate:
        """Return the architecture's feed-forward network on x."""
        form = self.conventions.gelu_form
        if self.config.gated:
            return gated_fed_forward(x, weights, self.config.activation, self.precision, gelu_form=form)
        return fed_forward(x, weights, self.config.activation, self.precision, gelu_form=form)


def encoder_estimate(
    model: ModelEstimates,
    tokens: Array,
    weights: reference.TransformerWeights,
    visible: Array,
    places: Array | None = None,
) -> Estimate:
    """Return an encoder's result on tokens (B, L), with the keys `visible`."""
    x = model.embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, places)
    for layer in weights.layers:
        x = model.layer(x, layer, visible, places)
    return model.normed(x, weights.final_norm)


def language_model_estimate(
    model: ModelEstimates,
    tokens: Array,
    weights: reference.TransformerWeights,
    visible: Array,
    places: Array | None = None,
) -> Estimate:
    """Return the logits of a language model: an encoder's vectors, whose mask is causal, unembedded.

    `places` (B, L) are the tokens' positions where they are not 0, 1, ….
    """
    return model.logits(encoder_estimate(model, tokens, weights, visible, places), weights)


def encoder_decoder_estimate(
    model: ModelEstimates,
    source: Array,
    target: Array,
    weights: reference.EncoderDecoderWeights,
    visible: Array,
    seen: Array,
) -> Estimate:
    """Return the logits of an encoder-decoder; `seen` are the source's tokens, `visible` those of the target."""
    memory = model.embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm)
    for layer in weights.encoder_layers:
        memory = model.layer(memory, layer, seen)
    memory = model.normed(memory, weights.encoder_final_norm)
    x = model.embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm)
    for decoder_layer in weights.decoder_layers:
        x = model.decoder_layer(x, memory, decoder_layer, visible, seen)
    return model.logits(model.normed(x, weights.decoder_final_norm), weights)
