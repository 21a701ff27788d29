"""Rounding errors of the gradients of encoder and decoder layers, carried on from sublayer to sublayer.

The stream that each sublayer reads is estimated on the way forward, the gradient of its result on the way back. Both
reach the gradients of the sublayer's weights, of its norm, and of the stream before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.feed_forward.estimates import fed_forward
from veriformer.conformance_tests.operations.feed_forward_backward.bounds import Activated, fed_back
from veriformer.conformance_tests.operations.layers.bounds import LayerSettings
from veriformer.conformance_tests.operations.layers.weights import DecoderLayerParameters, LayerParameters
from veriformer.conformance_tests.operations.multi_head_backward.bounds import multi_head_back
from veriformer.conformance_tests.operations.normalisation_backward.estimates import layer_normalised_back
from veriformer.conformance_tests.rounding.estimates import Estimate, added
from veriformer.reference.layer_weights import HasNormWeights
from veriformer.reference.weights import HasFeedForwardWeights, HasMultiHeadWeights

# The gradients of weights, by their path in the layer's: "self_attention.w_q".
Gradients = dict[str, Estimate]


@dataclass(frozen=True)
class Sublayer:
    """A sublayer by its name, with its norm's: its result, and the gradients of what it reads and of its weights."""

    name: str
    norm_name: str
    norm: HasNormWeights
    forward: Callable[[Estimate], Estimate]
    backward: Callable[[Estimate, Estimate], tuple[Estimate, Gradients]]


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
    is_decoder = isinstance(weights, DecoderLayerParameters)
    sublayers = [_self_attention(weights.norm_1, weights.self_attention, padding_mask, settings, causal=is_decoder)]
    if isinstance(weights, DecoderLayerParameters) and memory is not None:
        sublayers.append(
            _cross_attention(weights.norm_2, weights.cross_attention, memory, memory_padding_mask, settings)
        )
        sublayers.append(_network("norm_3", weights.norm_3, weights.feed_forward, settings))
    else:
        sublayers.append(_network("norm_2", weights.norm_2, weights.feed_forward, settings))
    return _through(x, sublayers, gradient, settings)


def _through(
    x: Estimate, sublayers: Sequence[Sublayer], gradient: Estimate, settings: LayerSettings
) -> tuple[Estimate, Gradients]:
    streams = [x]
    for sublayer in sublayers[:-1]:
        streams.append(settings.residual(streams[-1], sublayer.norm, sublayer.forward))
    found: Gradients = {}
    for sublayer, stream in zip(reversed(sublayers), reversed(streams), strict=True):
        gradient, of_weights = _residual_back(stream, sublayer, gradient, settings)
        found |= of_weights
    return gradient, found


def _residual_back(
    x: Estimate, sublayer: Sublayer, gradient: Estimate, settings: LayerSettings
) -> tuple[Estimate, Gradients]:
    if settings.norm_first:
        grad_normalised, found = sublayer.backward(settings.norm(sublayer.norm)(x), gradient)
        through, of_norm = _norm_back(x, sublayer, grad_normalised, settings)
        return added(gradient, through, settings.precision), found | of_norm
    total = added(x, sublayer.forward(x), settings.precision)
    grad_sum, of_norm = _norm_back(total, sublayer, gradient, settings)
    through, found = sublayer.backward(x, grad_sum)
    return added(grad_sum, through, settings.precision), found | of_norm


def _norm_back(
    x: Estimate, sublayer: Sublayer, gradient: Estimate, settings: LayerSettings
) -> tuple[Estimate, Gradients]:
    norm = sublayer.norm
    of_x, gain, shift = layer_normalised_back(
        x,
        norm.gamma,
        norm.beta,
        gradient,
        settings.eps,
        settings.precision,
        eps_placement=settings.eps_placement,
    )
    return of_x, {f"{sublayer.norm_name}.gamma": gain, f"{sublayer.norm_name}.beta": shift}


def _named(group: str, gradients: Gradients) -> Gradients:
    return {f"{group}.{name}": one for name, one in gradients.items()}


def _self_attention(
    norm: HasNormWeights,
    weights: HasMultiHeadWeights,
    real: Array | None,
    settings: LayerSettings,
    *,
    causal: bool,
) -> Sublayer:
    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_queries, of_context, found = _attended_back(y, y, weights, gradient, real, settings, causal=causal)
        return added(of_queries, of_context, settings.precision), _named("self_attention", found)

    return Sublayer(
        "self_attention",
        "norm_1",
        norm,
        lambda y: settings.attend(y, y, weights, real, causal=causal),
        backward,
    )


def _cross_attention(
    norm: HasNormWeights,
    weights: HasMultiHeadWeights,
    memory: Estimate,
    real: Array | None,
    settings: LayerSettings,
) -> Sublayer:
    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_queries, of_memory, found = _attended_back(y, memory, weights, gradient, real, settings, causal=False)
        return of_queries, {**_named("cross_attention", found), "memory": of_memory}

    return Sublayer(
        "cross_attention",
        "norm_2",
        norm,
        lambda y: settings.attend(y, memory, weights, real, causal=False),
        backward,
    )


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


def _network(norm_name: str, norm: HasNormWeights, weights: HasFeedForwardWeights, settings: LayerSettings) -> Sublayer:
    activated = Activated(settings.activation, settings.gelu_form, settings.precision)

    def backward(y: Estimate, gradient: Estimate) -> tuple[Estimate, Gradients]:
        of_x, found = fed_back(y, weights, gradient, activated)
        return of_x, _named("feed_forward", found)

    return Sublayer(
        "feed_forward",
        norm_name,
        norm,
        lambda y: fed_forward(y, weights, settings.activation, settings.precision, gelu_form=settings.gelu_form),
        backward,
    )
