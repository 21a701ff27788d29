"""Rounding errors of the gradients of whole Transformers, carried on from the logits to the embedding.

The forward pass is estimated as in `models.bounds`; each part's way back takes the estimate of what it read and that of
its result's gradient. A table that several parts use gets the sum of their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward_backward.bounds import Activated, fed_back, gated_fed_back
from veriformer.conformance_tests.operations.models.bounds import EncoderAndDecoder, ModelEstimates, Stack
from veriformer.conformance_tests.operations.multi_head_backward.bounds import multi_head_back
from veriformer.conformance_tests.operations.normalisation_backward.estimates import (
    layer_normalised_back,
    rms_normalised_back,
)
from veriformer.conformance_tests.operations.rotary.estimates import rotated, rotated_back
from veriformer.conformance_tests.rounding.estimates import Estimate, added
from veriformer.conformance_tests.rounding.going_back import of_matrix, through_matrix
from veriformer.conformance_tests.rounding.sublayers_back import (
    NOTHING,
    Gradients,
    Passed,
    Step,
    Sublayer,
    back_through,
    forward_through,
    under,
)


@dataclass(frozen=True)
class Way:
    """The layers that a stream has passed, each by its sublayers, and what comes out of the last."""

    layers: Sequence[list[Passed]]
    end: Estimate


@dataclass(frozen=True)
class ModelGradients:
    """The parts of a model backwards, under the configuration, conventions and precision of its estimates."""

    model: ModelEstimates

    def norm(self, path: str, weights: Any) -> Step:
        """Return the architecture's norm, whose weights stand at a path; nothing where there is none."""
        if weights is None:
            return NOTHING
        config, conventions, precision = self.model.config, self.model.conventions, self.model.precision

        def backward(x: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
            if config.norm == "rms_norm":
                gain = conventions.rms_norm_gain
                of_x, of_gain = rms_normalised_back(x, weights.gamma, gradient, config.eps, precision, gain=gain)
                return of_x, {f"{path}.gamma": of_gain}
            placement = conventions.layer_norm_eps
            of_x, of_gain, shift = layer_normalised_back(
                x, weights.gamma, weights.beta, gradient, config.eps, precision, eps_placement=placement
            )
            return of_x, {f"{path}.gamma": of_gain, f"{path}.beta": shift}

        return Step(lambda x: self.model.normed(x, weights), backward)

    def network(self, path: str, weights: Any) -> Step:
        """Return the architecture's feed-forward network."""
        config = self.model.config
        activated = Activated(config.activation, self.model.conventions.gelu_form, self.model.precision)
        fed: Any = gated_fed_back if config.gated else fed_back

        def backward(x: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
            of_x, found = fed(x, weights, gradient, activated)
            return of_x, under(path, found)

        return Step(lambda x: self.model.transformed(x, weights), backward)

    def attention(self, path: str, weights: Any, visible: Array, memory: Estimate | None = None) -> Step:
        """Return attention of a stream to itself, or to a memory, whose gradient is then named "memory"."""

        def backward(x: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
            context = x if memory is None else memory
            of_queries, of_context, found = self._attended_back(x, context, weights, visible, gradient)
            if memory is None:
                return added(of_queries, of_context, self.model.precision), under(path, found)
            return of_queries, {**under(path, found), "memory": of_context}

        return Step(lambda x: self.model.attended(x, x if memory is None else memory, weights, visible), backward)

    def _attended_back(
        self, x: Estimate, context: Estimate, weights: Any, visible: Array, gradient: Estimate
    ) -> tuple[Estimate, Estimate, Gradients]:
        config, precision = self.model.config, self.model.precision
        turning: dict[str, Any] = {"base": config.rotary_base, "pairing": self.model.conventions.rotary_pairing}
        turns: dict[str, Any] = {}
        if config.positions == "rotary":
            places = np.arange(x.value.shape[1])
            turns = {
                "turn": lambda heads: rotated(heads, places, precision, **turning),
                "turn_back": lambda heads: rotated_back(heads, places, precision, **turning),
            }
        shape = (x.value.shape[0], config.num_heads, x.value.shape[1], context.value.shape[1])
        return multi_head_back(
            x,
            context,
            weights,
            gradient,
            np.broadcast_to(visible, shape),
            precision,
            num_heads=config.num_heads,
            num_kv_heads=config.num_kv_heads,
            **turns,
        )

    def layer(self, path: str, weights: Any, visible: Array) -> list[Sublayer]:
        """Return the sublayers of an encoder's layer, or of a language model's."""
        return [
            Sublayer(
                self.norm(f"{path}.norm_1", weights.norm_1),
                self.attention(f"{path}.self_attention", weights.self_attention, visible),
            ),
            Sublayer(
                self.norm(f"{path}.norm_2", weights.norm_2),
                self.network(f"{path}.feed_forward", weights.feed_forward),
            ),
        ]

    def decoder_layer(self, path: str, memory: Estimate, weights: Any, visible: Array, seen: Array) -> list[Sublayer]:
        """Return the sublayers of a decoder's layer."""
        functions = (
            self.attention(f"{path}.self_attention", weights.self_attention, visible),
            self.attention(f"{path}.cross_attention", weights.cross_attention, seen, memory),
            self.network(f"{path}.feed_forward", weights.feed_forward),
        )
        names = [f"norm_{number}" for number in (1, 2, 3)]
        norms = (self.norm(f"{path}.{name}", getattr(weights, name)) for name in names)
        return [Sublayer(norm, function) for norm, function in zip(norms, functions, strict=True)]

    def way(self, x: Estimate, layers: Sequence[list[Sublayer]]) -> Way:
        """Return how a stream passes layers."""
        passed, first = [], self.model.config.norm_first
        for layer in layers:
            passed.append(forward_through(x, layer, self.model.precision, norm_first=first))
            x = passed[-1][-1].result()
        return Way(passed, x)

    def layers_back(self, way: Way, gradient: Estimate) -> tuple[Estimate, Gradients]:
        """Return the gradients of what the first layer reads and of all weights of the layers.

        Those of a memory that several layers read add up.
        """
        found = Gradients()
        for layer in reversed(way.layers):
            gradient, of_layer = back_through(layer, gradient)
            if "memory" in found and "memory" in of_layer:
                of_layer["memory"] = added(found["memory"], of_layer["memory"], self.model.precision)
            found |= of_layer
        return gradient, found

    def embedded_back(
        self, tokens: Array, names: tuple[str, str, str], tables: tuple[Array, Array | None, Any], gradient: Estimate
    ) -> Gradients:
        """Return the gradients of a table of tokens, of one of positions and of the norm after both, by their names."""
        (table_name, positions_name, norm_name), (table, positions, norm) = names, tables
        before = self.model.embed(tokens, table, positions, None)
        gradient, found = self.norm(norm_name, norm).backward(before, gradient)
        found[table_name] = self._looked_up_back(tokens, table, gradient)
        if positions is not None:
            found[positions_name] = self._places_back(positions, gradient)
        return found

    def _looked_up_back(self, tokens: Array, table: Array, gradient: Estimate) -> Estimate:
        precision = self.model.precision
        factor = math.sqrt(table.shape[1]) if self.model.config.scale_embedding else 1.0
        value, sizes, carried = (np.zeros(table.shape) for _ in range(3))
        np.add.at(value, tokens, gradient.value)
        np.add.at(sizes, tokens, np.abs(gradient.value) + gradient.error)
        np.add.at(carried, tokens, gradient.error)
        additions = np.maximum(np.bincount(tokens.ravel(), minlength=len(table)) - 1, 0)
        exponent = np.array([precision.stored_sums(int(count)) for count in additions])[:, None]
        rounding = np.expm1(exponent + 3.0 * precision.stored + precision.output)
        error = factor * (carried + rounding * sizes) + precision.tiny * (sizes > 0.0) * (additions[:, None] + 2.0)
        return Estimate(factor * value, error)

    def _places_back(self, positions: Array, gradient: Estimate) -> Estimate:
        """Return the gradient of learned positions, the sum over the samples."""
        precision, length = self.model.precision, gradient.value.shape[1]
        value, error = np.zeros(positions.shape), np.zeros(positions.shape)
        value[:length] = gradient.value.sum(axis=0)
        carried = gradient.error.sum(axis=0)
        sizes = np.abs(gradient.value).sum(axis=0) + carried
        rounding = math.expm1(precision.stored_sums(len(gradient.value)))
        error[:length] = carried + rounding * sizes + precision.tiny
        return Estimate(value, error)

    def logits_back(
        self, x: Estimate, weights: Stack | EncoderAndDecoder, gradient: Estimate
    ) -> tuple[Estimate, Gradients]:
        """Return the gradients of what the logits are made of; that of a tied table is named "tied"."""
        precision = self.model.precision
        if weights.unembedding is None:
            of_table = of_matrix(x, gradient, precision).mapped(lambda array: array.T)
            return through_matrix(gradient, weights.embedding.T, precision), {"tied": of_table}
        return through_matrix(gradient, weights.unembedding, precision), {
            "unembedding": of_matrix(x, gradient, precision)
        }

    def summed(self, gradients: Gradients, name: str, *uses: Estimate) -> Gradients:
        """Return the gradients with those of the uses of a table added up, in any order, under its name."""
        total = uses[0]
        for use in uses[1:]:
            total = added(total, use, self.model.precision)
        if len(uses) > 2:
            largest = sum(np.abs(use.value) + use.error for use in uses)
            total = Estimate(total.value, total.error + self.model.precision.stored * np.asarray(largest))
        return {**gradients, name: total}


def stack_back(
    parts: ModelGradients, tokens: Array, weights: Stack, visible: Array, gradient: Estimate, *, with_logits: bool
) -> Gradients:
    """Return the gradients of all weights of an encoder, or of a language model, given that of its result."""
    layers = [parts.layer(f"layers.{number}", layer, visible) for number, layer in enumerate(weights.layers)]
    tables = weights.embedding, weights.positions, weights.embedding_norm
    way = parts.way(parts.model.embed(tokens, *tables), layers)
    norm = parts.norm("final_norm", weights.final_norm)
    found: Gradients = {}
    if with_logits:
        gradient, found = parts.logits_back(norm.forward(way.end), weights, gradient)
    gradient, of_norm = norm.backward(way.end, gradient)
    gradient, of_layers = parts.layers_back(way, gradient)
    names = "embedding", "positions", "embedding_norm"
    found = {**found, **of_norm, **of_layers, **parts.embedded_back(tokens, names, tables, gradient)}
    tied = found.pop("tied", None)
    return found if tied is None else parts.summed(found, "embedding", found["embedding"], tied)


def encoder_decoder_back(
    parts: ModelGradients,
    source: Array,
    target: Array,
    weights: EncoderAndDecoder,
    visible: Array,
    seen: Array,
    gradient: Estimate,
) -> Gradients:
    """Return the gradients of all weights of an encoder-decoder, given that of its logits."""
    encoder = [parts.layer(f"encoder_layers.{n}", layer, seen) for n, layer in enumerate(weights.encoder_layers)]
    read_tables = weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm
    read = parts.way(parts.model.embed(source, *read_tables), encoder)
    encoder_norm = parts.norm("encoder_final_norm", weights.encoder_final_norm)
    memory = encoder_norm.forward(read.end)
    decoder = [
        parts.decoder_layer(f"decoder_layers.{n}", memory, layer, visible, seen)
        for n, layer in enumerate(weights.decoder_layers)
    ]
    written_tables = weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm
    written = parts.way(parts.model.embed(target, *written_tables), decoder)
    decoder_norm = parts.norm("decoder_final_norm", weights.decoder_final_norm)
    gradient, found = parts.logits_back(decoder_norm.forward(written.end), weights, gradient)
    gradient, of_decoder_norm = decoder_norm.backward(written.end, gradient)
    gradient, of_decoder = parts.layers_back(written, gradient)
    of_memory = of_decoder.pop("memory")
    names = "embedding", "decoder_positions", "decoder_embedding_norm"
    of_target = parts.embedded_back(target, names, written_tables, gradient)
    of_source, of_encoder_norm = encoder_norm.backward(read.end, of_memory)
    of_source, of_encoder = parts.layers_back(read, of_source)
    names = "embedding", "encoder_positions", "encoder_embedding_norm"
    of_tables = parts.embedded_back(source, names, read_tables, of_source)
    uses = [of_target.pop("embedding"), of_tables.pop("embedding")]
    tied = found.pop("tied", None)
    found = {**found, **of_decoder_norm, **of_decoder, **of_target, **of_encoder_norm, **of_encoder, **of_tables}
    return parts.summed(found, "embedding", *uses, *([] if tied is None else [tied]))
