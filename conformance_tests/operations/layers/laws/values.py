"""Encoder and decoder layers: residual connections, norms, and the sublayers between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.operations.layers.cases import LayerSpace
from veriformer.conformance_tests.operations.layers.inputs import LayerInputs
from veriformer.conformance_tests.operations.layers.weights import NormParameters
from veriformer.reference.conventions import EpsPlacement

LAYERS = ("encoder_layer", "decoder_layer")
_PRE = LayerSpace(place="pre")
_POST = LayerSpace(place="post")


@judges("pre_norm.value", space=replace(_PRE, padding="sometimes", memory_padding="sometimes"), operations=LAYERS)
@judges("post_norm.value", space=replace(_POST, padding="sometimes", memory_padding="sometimes"), operations=LAYERS)
def agrees_with_formula(trial: Trial[LayerInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("pre_norm.identity", space=_PRE, operations=LAYERS)
def identity(trial: Trial[LayerInputs]) -> Verdict:
    """With every sublayer at zero the result is the input: adding zero rounds nothing."""
    inputs = trial.inputs
    return compare(inputs.x, trial.output(inputs.without(*inputs.sublayers)), np.zeros(inputs.x.shape))


@judges("pre_norm.shift", space=replace(_PRE, palettes=EXACT_PALETTES), operations=LAYERS)
def shift(trial: Trial[LayerInputs]) -> Verdict:
    """Another number is added to all components of each position, small enough for every dtype to hold the sums."""
    inputs = trial.inputs
    by = trial.generator.integers(1, 5, (*inputs.x.shape[:2], 1)).astype(float)
    shifted = inputs.with_x(inputs.x + by)
    allowed = trial.allowed(inputs, shifted)
    return compare(trial.output(inputs) + by, trial.output(shifted), allowed)


@judges("pre_norm.own_norm", space=_PRE, operations=LAYERS)
def own_norm(trial: Trial[LayerInputs]) -> Verdict:
    """One sublayer at zero, and another gain and shift of its norm, which may be any of the layer's."""
    inputs = trial.inputs
    number = int(trial.generator.integers(len(inputs.sublayers)))
    plain = inputs.without(inputs.sublayers[number])
    norm = NormParameters(np.full(inputs.width, 5.0), np.arange(inputs.width) - 1.0)
    name = f"norm_{number + 1}"
    return trial.equal(plain, plain.with_weights(**{name: norm}), note=f"{inputs.sublayers[number]} gives zero")


@judges("post_norm.norms_alone", space=_POST, operations=LAYERS)
def norms_alone(trial: Trial[LayerInputs]) -> Verdict:
    """With every sublayer at zero the result is that of the norms alone."""
    inputs = trial.inputs.without(*trial.inputs.sublayers)
    expected = trial.expected(inputs)
    value = _norms(inputs, trial.conventions["layer_norm_eps"])
    return compare(value, trial.output(inputs), expected.allowed, expected.judged)


def _norms(inputs: LayerInputs, placement: EpsPlacement) -> Array:
    x = inputs.x
    for number in range(len(inputs.sublayers)):
        norm = getattr(inputs.weights, f"norm_{number + 1}")
        x = reference.layer_norm(x, norm.gamma, norm.beta, eps=inputs.eps, eps_placement=placement)
    return x


@judges("post_norm.zero_mean", space=_POST, operations=LAYERS)
def zero_mean(trial: Trial[LayerInputs]) -> Verdict:
    """With unit gain and no shift of the last norm the mean of each position is zero."""
    inputs = trial.inputs.with_plain_last_norm()
    allowed = trial.allowed(inputs).mean(axis=-1)
    return compare(np.zeros(allowed.shape), trial.output(inputs).mean(axis=-1), allowed)


@judges("post_norm.unit_variance", space=_POST, operations=LAYERS)
def unit_variance(trial: Trial[LayerInputs]) -> Verdict:
    """With unit gain and no shift of the last norm the mean square is v / (v + eps).

    v is not known from outside; the formula's own result has that mean square. An error δ of an entry y changes its
    square by 2yδ + δ².
    """
    inputs = trial.inputs.with_plain_last_norm()
    expected = trial.expected(inputs)
    allowed = (2.0 * np.abs(expected.value) * expected.allowed + expected.allowed**2).mean(axis=-1)
    squares = np.square(trial.output(inputs)).mean(axis=-1)
    return compare(np.square(expected.value).mean(axis=-1), squares, allowed)


@judges("post_norm.last_norm", space=_POST, operations=LAYERS)
def last_norm(trial: Trial[LayerInputs]) -> Verdict:
    """Gain and shift of the last norm applied afterwards give the same."""
    inputs = trial.inputs
    plain, norm = inputs.with_plain_last_norm(), getattr(inputs.weights, inputs.last_norm)
    allowed = trial.allowed(plain) * np.abs(norm.gamma) + trial.allowed(inputs)
    return compare(trial.output(plain) * norm.gamma + norm.beta, trial.output(inputs), allowed)


@judges("eps", space=LayerSpace(biases="never"), operations=LAYERS)
def small_as_eps(trial: Trial[LayerInputs]) -> Verdict:
    """A stream as small as √eps that no attention adds to: eps is half of the sum under the root."""
    inputs = trial.inputs.without(*trial.inputs.attentions)
    return trial.agrees(inputs.with_x(np.sqrt(inputs.eps) * inputs.x))


@judges("feed_forward.activation", space=LayerSpace(), operations=LAYERS)
def activation(trial: Trial[LayerInputs]) -> Verdict:
    """Without attention the result is that of the network and the norms alone."""
    return trial.agrees(trial.inputs.without(*trial.inputs.attentions))


@judges("feed_forward.position_wise", space=LayerSpace(least_length=2), operations=LAYERS)
def position_wise(trial: Trial[LayerInputs]) -> Verdict:
    """Without attention the last position gives the same result alone as among the others."""
    inputs = trial.inputs.without(*trial.inputs.attentions)
    alone = inputs.take_tokens(np.array([inputs.length - 1]))
    return trial.equal(alone, inputs, of_second=lambda result: result[:, -1:])


@judges("biases", space=LayerSpace(biases="never"), operations=LAYERS)
def biases(trial: Trial[LayerInputs]) -> Verdict:
    """Biases of zeros give the same result as None."""
    inputs = trial.inputs
    groups = {}
    for name in inputs.sublayers:
        weights = getattr(inputs.weights, name)
        zeros = {
            f"b_{key.removeprefix('w_')}": np.zeros(matrix.shape[1])
            for key, matrix in vars(weights).items()
            if key.startswith("w_")
        }
        groups[name] = replace(weights, **zeros)
    return trial.equal(inputs.with_weights(**groups), inputs)


@judges(
    "heads.permutation",
    space=LayerSpace(least_heads=2, padding="sometimes", memory_padding="sometimes"),
    operations=LAYERS,
)
def head_order(trial: Trial[LayerInputs]) -> Verdict:
    """The heads of each attention in another order, with their weights, give the same."""
    inputs = trial.inputs
    order = trial.permutation(inputs.num_heads)
    groups = {name: getattr(inputs.weights, name).take_heads(order, inputs.num_heads) for name in inputs.attentions}
    return trial.equal(inputs, inputs.with_weights(**groups))


@judges("single_token", space=LayerSpace(length=1), operations=LAYERS)
def single_token(trial: Trial[LayerInputs]) -> Verdict:
    """Other queries and keys of the self-attention change nothing for a sequence of one token."""
    return trial.equal(trial.inputs, with_other_logits(trial.inputs, "self_attention"))


def with_other_logits(inputs: LayerInputs, attention: str) -> LayerInputs:
    """Return inputs in which an attention has queries and keys of another kind, and the same values."""
    weights = getattr(inputs.weights, attention)
    other = replace(weights, w_q=-weights.w_k, w_k=weights.w_q[::-1].copy(), b_q=weights.b_k, b_k=weights.b_q)
    return inputs.with_weights(**{attention: other})
