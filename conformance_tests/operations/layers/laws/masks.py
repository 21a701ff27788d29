"""Encoder and decoder layers: padding, causality, the memory, and reorderings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Selection, Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import present
from veriformer.conformance_tests.operations.layers.cases import LayerSpace
from veriformer.conformance_tests.operations.layers.inputs import LayerInputs
from veriformer.conformance_tests.operations.layers.laws.values import LAYERS, with_other_logits

_ENCODER = ("encoder_layer",)
_DECODER = ("decoder_layer",)
_MASKED = LayerSpace(padding="sometimes", memory_padding="sometimes")
_PADDED = LayerSpace(padding="always", least_length=2)
_CAUSAL = replace(_MASKED, least_length=2)
# Far from what else is drawn, and exact in every dtype.
_OTHER = 6.0


@judges("batch.independence", space=replace(_MASKED, least_batch=2), operations=LAYERS)
def batch_independence(trial: Trial[LayerInputs]) -> Verdict:
    """The last sample gives the same result alone as in its batch."""
    last = np.array([trial.inputs.batch - 1])
    return trial.equal(trial.inputs.take_samples(last), trial.inputs, of_second=lambda result: result[last])


@judges("batch.permutation", space=replace(_MASKED, least_batch=2), operations=LAYERS)
def batch_permutation(trial: Trial[LayerInputs]) -> Verdict:
    """Samples in another order give results in that order."""
    order = trial.permutation(trial.inputs.batch)
    return trial.equal(trial.inputs, trial.inputs.take_samples(order), of_first=lambda result: result[order])


@judges("padding.content", space=_PADDED, operations=LAYERS)
def padding_content(trial: Trial[LayerInputs]) -> Verdict:
    """Other content at the padded positions does not affect the real ones."""
    inputs = trial.inputs
    content = np.where(trial.generator.random(inputs.x.shape) < 0.5, _OTHER, -_OTHER)
    return trial.equal(inputs, replace(inputs, x=np.where(inputs.real[..., None], inputs.x, content)))


@judges("padding.removed", space=replace(_PADDED, padding_sides=("right",)), operations=LAYERS)
@judges("padding.left", space=replace(_PADDED, padding_sides=("left",)), operations=LAYERS)
def padding_removed(trial: Trial[LayerInputs]) -> Verdict:
    """The last sample, without its padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    last = inputs.batch - 1
    # Half of the length, so that compiling frameworks see few new shapes.
    kept = np.arange((inputs.length + 1) // 2)
    if not inputs.real[last, 0]:
        kept = inputs.length - 1 - kept[::-1]
    mask = inputs.real.copy()
    mask[last] = np.isin(np.arange(inputs.length), kept)
    padded = replace(inputs, padding_mask=mask)
    alone = replace(padded.take_samples(np.array([last])).take_tokens(kept), padding_mask=None)
    return trial.equal(alone, padded, of_second=lambda result: result[last:, kept])


@judges("padding.none", space=LayerSpace(), operations=LAYERS)
def no_padding(trial: Trial[LayerInputs]) -> Verdict:
    """A mask that is True everywhere gives the same result as no mask."""
    return trial.equal(trial.inputs, replace(trial.inputs, padding_mask=trial.inputs.real))


@judges("tokens.permutation", space=replace(_MASKED, least_length=2), operations=_ENCODER)
def token_order(trial: Trial[LayerInputs]) -> Verdict:
    """Positions in another order, with their padding, give results in that order."""
    order = trial.permutation(trial.inputs.length)
    return trial.equal(trial.inputs, trial.inputs.take_tokens(order), of_first=lambda result: result[:, order])


@judges("causal.no_future_leak", space=_CAUSAL, operations=_DECODER)
def no_future_leak(trial: Trial[LayerInputs]) -> Verdict:
    """Other content in the later half of the sequence does not affect the first half."""
    inputs = trial.inputs
    cut = inputs.length // 2
    content = np.where(trial.generator.random(inputs.x.shape) < 0.5, _OTHER, -_OTHER)
    changed = replace(inputs, x=np.where(np.arange(inputs.length)[:, None] >= cut, content, inputs.x))
    return trial.equal(inputs, changed, of_first=_up_to(cut), of_second=_up_to(cut))


@judges("causal.prefix", space=_CAUSAL, operations=_DECODER)
def prefix(trial: Trial[LayerInputs]) -> Verdict:
    """The first half of the sequence gives the same result alone as before the second half."""
    inputs = trial.inputs
    cut = (inputs.length + 1) // 2
    # Every sample keeps a real token: the mask of the prefix is made of real ones where it would have none.
    real = inputs.real.copy()
    real[~real[:, :cut].any(axis=1)] = True
    whole = inputs if inputs.padding_mask is None else replace(inputs, padding_mask=real)
    return trial.equal(whole.take_tokens(np.arange(cut)), whole, of_second=_up_to(cut))


@judges("memory.permutation", space=replace(_MASKED, least_memory=2), operations=_DECODER)
def memory_order(trial: Trial[LayerInputs]) -> Verdict:
    """Positions of the memory in another order, with their padding, give the same."""
    return trial.equal(trial.inputs, trial.inputs.take_memory(trial.permutation(trial.inputs.memory_length)))


@judges("memory.single_token", space=LayerSpace(memory=1), operations=_DECODER)
def memory_single_token(trial: Trial[LayerInputs]) -> Verdict:
    """Other queries and keys of the cross-attention change nothing for a memory of one token."""
    return trial.equal(trial.inputs, with_other_logits(trial.inputs, "cross_attention"))


@judges("memory.as_given", space=_MASKED, operations=_DECODER)
def memory_as_given(trial: Trial[LayerInputs]) -> Verdict:
    """Twice the memory, and twice the matrices that it is projected with, give the same."""
    inputs = trial.inputs
    cross = inputs.decoder_weights.cross_attention
    doubled = inputs.with_weights(cross_attention=replace(cross, w_k=2.0 * cross.w_k, w_v=2.0 * cross.w_v))
    return trial.equal(replace(inputs, memory=2.0 * present(inputs.memory)), doubled)


@judges("memory.padding_content", space=LayerSpace(memory_padding="always", least_memory=2), operations=_DECODER)
def memory_content(trial: Trial[LayerInputs]) -> Verdict:
    """Other content at the padded positions of the memory changes nothing."""
    inputs = trial.inputs
    memory, real = present(inputs.memory), present(inputs.memory_padding_mask)
    content = np.where(trial.generator.random(memory.shape) < 0.5, _OTHER, -_OTHER)
    return trial.equal(inputs, replace(inputs, memory=np.where(real[..., None], memory, content)))


@judges("memory.padding_removed", space=LayerSpace(memory_padding="always", least_memory=2), operations=_DECODER)
def memory_removed(trial: Trial[LayerInputs]) -> Verdict:
    """The last sample, without its memory's padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    last, length = inputs.batch - 1, inputs.memory_length
    mask = present(inputs.memory_padding_mask).copy()
    kept = np.arange((length + 1) // 2)
    if not mask[last, 0]:
        kept = length - 1 - kept[::-1]
    mask[last] = np.isin(np.arange(length), kept)
    padded = replace(inputs, memory_padding_mask=mask)
    alone = replace(padded.take_samples(np.array([last])).take_memory(kept), memory_padding_mask=None)
    return trial.equal(alone, padded, of_second=lambda result: result[last:])


def _up_to(cut: int) -> Selection:
    return lambda result: result[:, :cut]
