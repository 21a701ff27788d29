"""Laws of the gradients of encoder and decoder layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Bound, Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.gradients import added_up, equal, linear, without_grad_output
from veriformer.conformance_tests.operations.layers.cases import LayerSpace
from veriformer.conformance_tests.operations.layers_backward.inputs import LayerBackwardInputs
from veriformer.conformance_tests.operations.parts import agrees, agrees_in

LayerTrial = Trial[LayerBackwardInputs]

_DECODER = ("decoder_layer_backward",)
_LAYERS = ("encoder_layer_backward", *_DECODER)
_ANY = LayerSpace(padding="sometimes", memory_padding="sometimes", least_length=2)
_PRE, _POST = replace(_ANY, place="pre"), replace(_ANY, place="post")

judges("grad_x", space=_ANY, operations=_LAYERS)(agrees_in("grad_x"))
judges("grad_memory", space=_ANY, operations=_DECODER)(agrees_in("grad_memory"))
judges("grad_output.linear", space=replace(_ANY, palettes=EXACT_PALETTES), operations=_LAYERS)(linear)
judges("grad_output.zero", space=_ANY, operations=_LAYERS)(without_grad_output)


def _agrees_in_group(trial: LayerTrial, group: str) -> Verdict:
    """Judge the gradients of all weights whose path begins with a group's name."""
    names = (name for name in trial.inputs.parts if name.startswith(f"grad_{group}"))
    return agrees(trial, trial.inputs, *names)


@judges("grad_self_attention", space=_ANY, operations=_LAYERS)
def of_self_attention(trial: LayerTrial) -> Verdict:
    """The gradients of the self-attention's weights are the formula's."""
    return _agrees_in_group(trial, "self_attention")


@judges("grad_cross_attention", space=_ANY, operations=_DECODER)
def of_cross_attention(trial: LayerTrial) -> Verdict:
    """The gradients of the weights of the attention to the memory are the formula's."""
    return _agrees_in_group(trial, "cross_attention")


@judges("grad_feed_forward", space=_ANY, operations=_LAYERS)
def of_feed_forward(trial: LayerTrial) -> Verdict:
    """The gradients of the network's weights are the formula's."""
    return _agrees_in_group(trial, "feed_forward")


@judges("grad_norms", space=_ANY, operations=_LAYERS)
def of_norms(trial: LayerTrial) -> Verdict:
    """The gradients of all gains and shifts are the formula's."""
    return _agrees_in_group(trial, "norm_")


@judges("pre_norm.identity", space=_PRE, operations=_LAYERS)
def identity(trial: LayerTrial) -> Verdict:
    """Sublayers whose last matrix and bias are zero: the stream gets the gradient of the result."""
    inputs = trial.inputs.without(*trial.inputs.sublayers)
    part = inputs.part("grad_x")
    trial.expected(inputs)
    return trial.within(
        inputs.grad_output, part(trial.output(inputs)), lambda bound: part(bound(inputs)), None, "grad_x"
    )


@judges("pre_norm.sums", space=_PRE, operations=_LAYERS)
def sums(trial: LayerTrial) -> Verdict:
    """The gradient of each position has the sum of that of its result."""
    inputs = trial.inputs
    expected, part = trial.expected(inputs), inputs.part("grad_x")
    received = part(trial.output(inputs)).sum(axis=-1)
    judged = np.asarray(part(expected.judged).all(axis=-1))

    def allowed(bound: Bound) -> Array:
        return np.asarray(part(bound(inputs)).sum(axis=-1))

    return trial.within(inputs.grad_output.sum(axis=-1), received, allowed, judged, "grad_x")


@judges("post_norm.equal_gradients", space=_POST, operations=_LAYERS)
def equal_gradients(trial: LayerTrial) -> Verdict:
    """With a plain last norm, equal gradients of all components of each result reach its shift alone."""
    plain = trial.inputs.with_plain_last_norm()
    inputs = plain.with_cotangents(grad_output=np.broadcast_to(plain.grad_output[..., :1], plain.x.shape).copy())
    expected, part = trial.expected(inputs), inputs.part("grad_x")
    received = part(trial.output(inputs))
    zeros, judged = np.zeros(received.shape), part(expected.judged)
    return trial.within(zeros, received, lambda bound: part(bound(inputs)), judged, "grad_x")


@judges("padding.no_gradient", space=replace(_ANY, padding="always"), operations=_LAYERS)
def padding(trial: LayerTrial) -> Verdict:
    """Padded positions of the stream have no gradient."""
    return _no_gradient(trial, trial.inputs, "grad_x", ~trial.inputs.real)


@judges("memory_padding.no_gradient", space=replace(_ANY, memory_padding="always"), operations=_DECODER)
def memory_padding(trial: LayerTrial) -> Verdict:
    """Padded positions of the memory have no gradient."""
    real = trial.inputs.memory_padding_mask
    return _no_gradient(trial, trial.inputs, "grad_memory", ~np.asarray(real))


@judges("causal.no_future_gradient", space=_ANY, operations=_DECODER)
def no_future_gradient(trial: LayerTrial) -> Verdict:
    """A loss on the first half of the results gives no gradient to the second half of the stream."""
    inputs = trial.inputs
    later = np.broadcast_to(np.arange(inputs.length) >= (inputs.length + 1) // 2, inputs.real.shape)
    prefix = inputs.with_cotangents(grad_output=np.where(later[..., None], 0.0, inputs.grad_output))
    return _no_gradient(trial, prefix, "grad_x", later)


def _no_gradient(trial: LayerTrial, inputs: LayerBackwardInputs, name: str, where: Array) -> Verdict:
    """Judge whether a gradient is zero at some positions (B, L)."""
    expected, part = trial.expected(inputs), inputs.part(name)
    received = part(trial.output(inputs))
    judged = part(expected.judged) & where[..., None]
    wanted = np.where(where[..., None], 0.0, received)
    return trial.within(wanted, received, lambda bound: part(bound(inputs)), judged, name, may_be_nan=False)


@judges("samples.additive", space=replace(_ANY, least_batch=2), operations=_LAYERS)
def additive(trial: LayerTrial) -> Verdict:
    """The weights' gradients over the first sample and over the others add up to those over all."""
    inputs = trial.inputs
    shares = inputs.take_samples(np.arange(1)), inputs.take_samples(np.arange(1, inputs.batch))
    return added_up(trial, shares, [name for name in inputs.parts if name not in ("grad_x", "grad_memory")])


@judges("batch.independence", space=replace(_ANY, least_batch=2), operations=_LAYERS)
def samples_alone(trial: LayerTrial) -> Verdict:
    """The gradient of the last sample's stream is the same alone as in the batch."""
    inputs = trial.inputs

    def of_streams(name: str, part: Array) -> Array:
        return part[-1:] if name in ("grad_x", "grad_memory") else part.ravel()[:0]

    return equal(trial, inputs.take_samples(np.array([inputs.batch - 1])), inputs, of_streams, of_streams)
