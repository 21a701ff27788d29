"""Rounding errors of the gradients of encoder and decoder layers, carried on from sublayer to sublayer.

The stream that each sublayer reads is estimated on the way forward, the gradient of its result on the way back. Both
reach the gradients of the sublayer's weights, of its norm, and of the stream before it.
"""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward.estimates import fed_forward
from veriformer.conformance_tests.operations.feed_forward_backward.bounds import Activated, fed_back
from veriformer.conformance_tests.operations.layers.bounds import LayerSettings
from veriformer.conformance_tests.operations.layers.weights import DecoderLayerParameters, LayerParameters
from veriformer.conformance_tests.operations.multi_head_backward.bounds import multi_head_back
from veriformer.conformance_tests.operations.normalisation_backward.estimates import layer_normalised_back
from veriformer.conformance_tests.rounding.estimates import Estimate, added
from veriformer.conformance_tests.rounding.sublayers_back import (
    Gradients,
    Step,
    Sublayer,
    back_through,
    forward_through,
    under,
)
from veriformer.reference.layer_weights import HasNormWeights
from veriformer.reference.weights import HasFeedForwardWeights, HasMultiHeadWeights


def layer_back(
    x: Estimate,
    memory: Estimate | None,
    weights: LayerParameters,
    gradient: Estimate,
    settings: LayerSettings,
    *,
    padding_mask: Array | None,
    memory_padding_mask: Array | None,
) -> tuple[Estimate, Gradients]:
    """Return the gradients of the stream and of each weight; that of a decoder's memory is named "memory"."""
    if isinstance(weights, DecoderLayerParameters) and memory is not None:
        functions: tuple[Step, ...] = (
            _self_attention(weights.self_attention, padding_mask, settings, causal=True),
            _cross_attention(weights.cross_attention, memory, memory_padding_mask, settings),
            _network(weights.feed_forward, settings),
        )
    else:
        functions = (
            _self_attention(weights.self_attention, padding_mask, settings, causal=False),
            _network(weights.feed_forward, settings),
        )
    names = [f"norm_{number}" for number in range(1, len(functions) + 1)]
    norms = (_norm(name, getattr(weights, name), settings) for name in names)
    sublayers = [Sublayer(norm, function) for norm, function in zip(norms, functions, strict=True)]
    passed = forward_through(x, sublayers, settings.precision, norm_first=settings.norm_first)
    return back_through(passed, gradient)


def _norm(name: str, norm: HasNormWeights, settings: LayerSettings) -> Step:
    def backward(x: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        placement = settings.eps_placement
        of_x, gain, shift = layer_normalised_back(
            x, norm.gamma, norm.beta, gradient, settings.eps, settings.precision, eps_placement=placement
        )
        return of_x, {f"{name}.gamma": gain, f"{name}.beta": shift}

    return Step(settings.norm(norm), backward)


def _self_attention(weights: HasMultiHeadWeights, real: Array | None, settings: LayerSettings, *, causal: bool) -> Step:
    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_queries, of_context, found = _attended_back(y, y, weights, gradient, real, settings, causal=causal)
        return added(of_queries, of_context, settings.precision), under("self_attention", found)

    return Step(lambda y: settings.attend(y, y, weights, real, causal=causal), backward)


def _cross_attention(
    weights: HasMultiHeadWeights, memory: Estimate, real: Array | None, settings: LayerSettings
) -> Step:
    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_queries, of_memory, found = _attended_back(y, memory, weights, gradient, real, settings, causal=False)
        return of_queries, {**under("cross_attention", found), "memory": of_memory}

    return Step(lambda y: settings.attend(y, memory, weights, real, causal=False), backward)


def _attended_back(
    x: Estimate,
    context: Estimate,
    weights: HasMultiHeadWeights,
    gradient: Estimate,
    real: Array | None,
    settings: LayerSettings,
    *,
    causal: bool,
) -> tuple[Estimate, Estimate, Gradients]:
    shape = (x.value.shape[0], settings.num_heads, x.value.shape[1], context.value.shape[1])
    mask = None if real is None else real[:, None, None, :]
    visible = reference.visible_keys(shape, mask=mask, is_causal=causal)
    heads = settings.num_heads
    return multi_head_back(
        x, context, weights, gradient, visible, settings.precision, num_heads=heads, num_kv_heads=heads
    )


def _network(weights: HasFeedForwardWeights, settings: LayerSettings) -> Step:
    activated = Activated(settings.activation, settings.gelu_form, settings.precision)

    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_x, found = fed_back(y, weights, gradient, activated)
        return of_x, under("feed_forward", found)

    return Step(
        lambda y: fed_forward(y, weights, settings.activation, settings.precision, gelu_form=settings.gelu_form),
        backward,
    )
