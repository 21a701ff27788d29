"""Rounding errors of encoder and decoder layers: those of their sublayers, propagated from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward.estimates import fed_forward
from veriformer.conformance_tests.operations.multi_head.estimates import multi_head_attended
from veriformer.conformance_tests.operations.normalisation.estimates import layer_normalised
from veriformer.conformance_tests.rounding.estimates import Estimate, added
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.conventions import Activation, EpsPlacement, GeluForm
from veriformer.reference.layer_weights import HasDecoderLayerWeights, HasEncoderLayerWeights, HasNormWeights
from veriformer.reference.weights import HasMultiHeadWeights

Transformation = Callable[[Estimate], Estimate]


@dataclass(frozen=True)
class LayerSettings:
    """The shared settings of a layer's sublayers."""

    num_heads: int
    norm_first: bool
    activation: Activation
    eps: float
    precision: Precision
    gelu_form: GeluForm = "erf"
    eps_placement: EpsPlacement = "inside_root"

    def norm(self, weights: HasNormWeights) -> Transformation:
        """Return the layer normalisation with these weights."""
        return lambda x: layer_normalised(
            x, weights.gamma, weights.beta, self.eps, self.precision, eps_placement=self.eps_placement
        )

    def attend(
        self, x: Estimate, context: Estimate, weights: HasMultiHeadWeights, real: Array | None, *, causal: bool
    ) -> Estimate:
        """Return attention of x to the positions of the context that are real, bool (B, S)."""
        shape = (x.value.shape[0], self.num_heads, x.value.shape[1], context.value.shape[1])
        mask = None if real is None else real[:, None, None, :]
        visible = reference.visible_keys(shape, mask=mask, is_causal=causal)
        return multi_head_attended(x, context, weights, visible, self.precision, num_heads=self.num_heads)

    def residual(self, x: Estimate, norm: HasNormWeights, sublayer: Transformation) -> Estimate:
        """Return x + sublayer(norm(x)), or norm(x + sublayer(x))."""
        normalised = self.norm(norm)
        if self.norm_first:
            return added(x, sublayer(normalised(x)), self.precision)
        return normalised(added(x, sublayer(x), self.precision))


def encoder_layer_estimate(
    x: Estimate, weights: HasEncoderLayerWeights, settings: LayerSettings, *, padding_mask: Array | None = None
) -> Estimate:
    """Return the result of an encoder layer on x, (B, L, E), as `reference.encoder_layer` does."""
    x = settings.residual(
        x, weights.norm_1, lambda y: settings.attend(y, y, weights.self_attention, padding_mask, causal=False)
    )
    return settings.residual(x, weights.norm_2, lambda y: _transformed(y, weights, settings))


def decoder_layer_estimate(
    x: Estimate,
    memory: Estimate,
    weights: HasDecoderLayerWeights,
    settings: LayerSettings,
    *,
    padding_mask: Array | None = None,
    memory_padding_mask: Array | None = None,
) -> Estimate:
    """Return the result of a decoder layer on x, (B, L, E), and the memory, as `reference.decoder_layer` does."""
    x = settings.residual(
        x, weights.norm_1, lambda y: settings.attend(y, y, weights.self_attention, padding_mask, causal=True)
    )
    x = settings.residual(
        x,
        weights.norm_2,
        lambda y: settings.attend(y, memory, weights.cross_attention, memory_padding_mask, causal=False),
    )
    return settings.residual(x, weights.norm_3, lambda y: _transformed(y, weights, settings))


def _transformed(
    x: Estimate, weights: HasEncoderLayerWeights | HasDecoderLayerWeights, settings: LayerSettings
) -> Estimate:
    return fed_forward(x, weights.feed_forward, settings.activation, settings.precision, gelu_form=settings.gelu_form)
