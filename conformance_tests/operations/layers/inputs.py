"""The inputs of encoder and decoder layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs
from veriformer.conformance_tests.core.when_needed import bounded
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.cases import Activation
from veriformer.conformance_tests.operations.layers.bounds import (
    LayerSettings,
    decoder_layer_estimate,
    encoder_layer_estimate,
)
from veriformer.conformance_tests.operations.layers.cases import LayerCase, PaddingSide
from veriformer.conformance_tests.operations.layers.weights import (
    DecoderLayerParameters,
    LayerParameters,
    NormParameters,
    draw_parameters,
    zeroed,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class AnyLayerInputs(Inputs):
    """The stream (B, L, E), the weights and settings of a layer, and for a decoder the memory (B, S, E)."""

    dtype: str
    x: Array
    weights: LayerParameters
    num_heads: int
    norm_first: bool
    activation: Activation
    eps: float
    memory: Array | None = None
    padding_mask: Array | None = None
    memory_padding_mask: Array | None = None

    @classmethod
    def draw(cls, operation: str, case: LayerCase) -> Self:
        """Return the inputs that a case describes."""
        return cls(**cls._drawn(case))

    @classmethod
    def _drawn(cls, case: LayerCase) -> dict[str, Any]:
        """Return the members that a case describes, by name."""
        generator = np.random.default_rng(case.seed)

        def vectors(length: int) -> Array:
            return filled(generator, case, (case.batch, length, case.d_model))

        x, memory = vectors(case.length), vectors(case.memory) if case.memory else None
        weights = draw_parameters(case, generator)
        padding = _real(case.padding, case.batch, case.length, generator)
        memory_padding = _real(case.memory_padding, case.batch, case.memory, generator) if case.memory else None
        return {
            "dtype": case.dtype,
            "x": x,
            "weights": weights,
            "num_heads": case.heads,
            "norm_first": case.norm_first,
            "activation": case.activation,
            "eps": case.eps,
            "memory": memory,
            "padding_mask": padding,
            "memory_padding_mask": memory_padding,
        }

    @property
    def operation(self) -> str:
        """The operation's name, which follows from the memory."""
        return "encoder_layer" if self.memory is None else "decoder_layer"

    def arguments(self) -> dict[str, Any]:
        memory = {} if self.memory is None else {"memory": self.memory}
        arguments: dict[str, Any] = {"x": self.x, **memory, "weights": self.weights, "num_heads": self.num_heads}
        arguments |= {"norm_first": self.norm_first, "activation": self.activation, "eps": self.eps}
        masks = {"padding_mask": self.padding_mask, "memory_padding_mask": self.memory_padding_mask}
        return arguments | {name: mask for name, mask in masks.items() if mask is not None}

    @property
    def batch(self) -> int:
        """The number of samples."""
        return int(self.x.shape[0])

    @property
    def length(self) -> int:
        """L."""
        return int(self.x.shape[1])

    @property
    def memory_length(self) -> int:
        """S, 0 without a memory."""
        return 0 if self.memory is None else int(self.memory.shape[1])

    @property
    def width(self) -> int:
        """E."""
        return int(self.x.shape[2])

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def real(self) -> Array:
        """Which positions are real, (B, L)."""
        return np.ones(self.x.shape[:2], dtype=bool) if self.padding_mask is None else self.padding_mask

    @property
    def decoder_weights(self) -> DecoderLayerParameters:
        """The weights of a decoder layer; TypeError where they are those of an encoder layer."""
        if not isinstance(self.weights, DecoderLayerParameters):
            raise TypeError("the weights are those of an encoder layer, which has no cross-attention; give a decoder's")
        return self.weights

    @property
    def sublayers(self) -> tuple[str, ...]:
        """The names of the sublayers' weights, in order."""
        middle = ("cross_attention",) if isinstance(self.weights, DecoderLayerParameters) else ()
        return ("self_attention", *middle, "feed_forward")

    @property
    def attentions(self) -> tuple[str, ...]:
        """The names of the weights of the sublayers that are attention."""
        return self.sublayers[:-1]

    @property
    def last_norm(self) -> str:
        """The name of the norm of the last sublayer."""
        return f"norm_{len(self.sublayers)}"

    def with_weights(self, **groups: Any) -> Self:
        """Return inputs with some groups of weights replaced, by name."""
        return replace(self, weights=replace(self.weights, **groups))

    def with_x(self, x: Array) -> Self:
        """Return inputs with another stream, rounded to the dtype."""
        return replace(self, x=round_to_dtype(x, self.dtype))

    def without(self, *sublayers: str) -> Self:
        """Return inputs in which the sublayers named give zero."""
        return self.with_weights(**{name: zeroed(getattr(self.weights, name)) for name in sublayers})

    def with_plain_last_norm(self) -> Self:
        """Return inputs whose last norm has unit gain and no shift."""
        return self.with_weights(**{self.last_norm: NormParameters.plain(self.width)})

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""
        return replace(
            self,
            x=self.x[index],
            memory=None if self.memory is None else self.memory[index],
            padding_mask=None if self.padding_mask is None else self.padding_mask[index],
            memory_padding_mask=None if self.memory_padding_mask is None else self.memory_padding_mask[index],
        )

    def take_tokens(self, index: Array) -> Self:
        """Return the positions at `index`, with their padding."""
        mask = None if self.padding_mask is None else self.padding_mask[:, index]
        return replace(self, x=self.x[:, index], padding_mask=mask)

    def take_memory(self, index: Array) -> Self:
        """Return the positions of the memory at `index`, with their padding."""
        if self.memory is None:
            raise TypeError("an encoder layer has no memory")
        mask = None if self.memory_padding_mask is None else self.memory_padding_mask[:, index]
        return replace(self, memory=self.memory[:, index], memory_padding_mask=mask)

    def _settings(self, conventions: Conventions) -> dict[str, Any]:
        """Return the keywords of the reference's functions."""
        settings: dict[str, Any] = {
            "num_heads": self.num_heads,
            "norm_first": self.norm_first,
            "activation": self.activation,
            "eps": self.eps,
            "padding_mask": self.padding_mask,
            "gelu_form": conventions["gelu_form"],
            "eps_placement": conventions["layer_norm_eps"],
        }
        if self.memory is not None:
            settings["memory_padding_mask"] = self.memory_padding_mask
        return settings

    def _bearing(self, conventions: Conventions, precision: Precision) -> LayerSettings:
        """Return the settings of the layer's error bound."""
        return LayerSettings(
            self.num_heads,
            self.norm_first,
            self.activation,
            self.eps,
            precision,
            conventions["gelu_form"],
            conventions["layer_norm_eps"],
        )


@dataclass(frozen=True, eq=False)
class LayerInputs(AnyLayerInputs, SampledInputs):
    """Inputs of a layer."""

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound; rows at padded positions are not judged."""
        precision = Precision.of(self.dtype, conventions.get("softmax_dtype", "input"))
        value = self._reference(conventions)
        judged = np.broadcast_to(self.real[..., None], value.shape)
        return bounded(value, lambda: self._estimate(conventions, precision).error, precision, self.dtype, judged)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees the padding."""
        return replace(self, padding_mask=None, memory_padding_mask=None).expected(conventions).allowed

    def _reference(self, conventions: Conventions) -> Array:
        settings = self._settings(conventions)
        if self.memory is None:
            return np.asarray(reference.encoder_layer(self.x, self.weights, **settings))
        return np.asarray(reference.decoder_layer(self.x, self.memory, self.decoder_weights, **settings))

    def _estimate(self, conventions: Conventions, precision: Precision) -> Estimate:
        settings = self._bearing(conventions, precision)
        x = Estimate.exact(self.x)
        if self.memory is None:
            return encoder_layer_estimate(x, self.weights, settings, padding_mask=self.padding_mask)
        return decoder_layer_estimate(
            x,
            Estimate.exact(self.memory),
            self.decoder_weights,
            settings,
            padding_mask=self.padding_mask,
            memory_padding_mask=self.memory_padding_mask,
        )


def _real(side: PaddingSide, batch: int, length: int, generator: np.random.Generator) -> Array | None:
    """Return which positions are real, (B, L): one of each sample at least, and in the last sample not all."""
    if side == "none":
        return None
    lengths = generator.integers(1, length + 1, batch)
    lengths[-1] = generator.integers(1, length)
    real = np.arange(length) < lengths[:, None]
    return real if side == "right" else real[:, ::-1].copy()
