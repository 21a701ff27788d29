"""Whole Transformers: values, masks, renaming and reordering."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Selection, Trial, everything
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.models.cases import ModelSpace
from veriformer.conformance_tests.operations.models.decoding_inputs import DecodingInputs
from veriformer.conformance_tests.operations.models.inputs import TokenInputs, TranslationInputs

_ENCODER = ("encoder",)
_LANGUAGE = ("language_model",)
_ENCODER_DECODER = ("encoder_decoder",)
_ONE_STACK = (*_ENCODER, *_LANGUAGE)
_LOGITS = (*_LANGUAGE, *_ENCODER_DECODER)
_ALL = (*_ENCODER, *_ENCODER_DECODER, *_LANGUAGE, "decode_step")
_ANY = ModelSpace(padding="sometimes", source_padding="sometimes", cuts="any")
_SEVERAL = replace(_ANY, least_batch=2)


@judges("architecture.bert", space=replace(_ANY, architectures=("bert",)))
@judges("architecture.vaswani", space=replace(_ANY, architectures=("vaswani",)))
@judges("architecture.bart", space=replace(_ANY, architectures=("bart",)))
@judges("architecture.gpt", space=ModelSpace(architectures=("gpt",), padding="sometimes"))
@judges("architecture.llama", space=ModelSpace(architectures=("llama",), padding="sometimes"))
@judges("source.last_token", space=ModelSpace(least_source=4), operations=_ENCODER_DECODER)
def agrees_with_formula(trial: Trial[DecodingInputs | TokenInputs | TranslationInputs]) -> Verdict:
    """The result is the formula's."""
    return trial.agrees()


@judges("batch.independence", space=_SEVERAL, operations=_ALL)
def batch_independence(trial: Trial[DecodingInputs | TokenInputs | TranslationInputs]) -> Verdict:
    """The last sample gives the same result alone as in its batch."""
    last = np.array([trial.inputs.batch - 1])
    return trial.equal(trial.inputs.take_samples(last), trial.inputs, of_second=lambda result: result[last])


@judges("batch.permutation", space=_SEVERAL, operations=_ALL)
def batch_permutation(trial: Trial[DecodingInputs | TokenInputs | TranslationInputs]) -> Verdict:
    """Samples in another order give results in that order."""
    order = trial.permutation(trial.inputs.batch)
    return trial.equal(trial.inputs, trial.inputs.take_samples(order), of_first=lambda result: result[order])


@judges("padding.content", space=ModelSpace(padding="always", least_length=2), operations=_ONE_STACK)
def padding_content(trial: Trial[TokenInputs]) -> Verdict:
    """Other tokens in the padding do not change the rows of real tokens."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.with_tokens(_exchanged(inputs.tokens, inputs.padding_mask, inputs.vocabulary)))


@judges("padding.removed", space=ModelSpace(padding="always", sides=("right",), least_length=2), operations=_ONE_STACK)
@judges(
    "padding.left",
    space=ModelSpace(("llama",), padding="always", sides=("left",), least_length=2),
    operations=_LANGUAGE,
)
def padding_removed(trial: Trial[TokenInputs]) -> Verdict:
    """The last sample, without its padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    last = inputs.batch - 1
    real = np.flatnonzero(present(inputs.padding_mask)[last])
    alone = replace(inputs, padding_mask=None).take_samples(np.array([last])).take_tokens(real)
    return trial.equal(alone, inputs, of_second=lambda result: result[last:, real])


@judges("causal.no_future_leak", space=ModelSpace(padding="sometimes", least_length=2), operations=_LANGUAGE)
def no_future_leak(trial: Trial[TokenInputs]) -> Verdict:
    """Other tokens in the later half do not change the earlier half."""
    inputs = trial.inputs
    cut = inputs.length // 2
    return trial.equal(
        inputs,
        inputs.with_tokens(_changed_from(cut, inputs.tokens, inputs.vocabulary)),
        of_first=_before(cut),
        of_second=_before(cut),
    )


@judges("target.no_future_leak", space=ModelSpace(least_length=2, source_padding="sometimes"))
def target_future(trial: Trial[TranslationInputs]) -> Verdict:
    """Other target tokens in the later half do not change the earlier half."""
    inputs = trial.inputs
    cut = inputs.length // 2
    changed = replace(inputs, target=_changed_from(cut, inputs.target, inputs.vocabulary))
    return trial.equal(inputs, changed, of_first=_before(cut), of_second=_before(cut))


@judges("causal.prefix", space=ModelSpace(padding="sometimes", least_length=2), operations=_LANGUAGE)
@judges("target.prefix", space=ModelSpace(least_length=2, source_padding="sometimes"))
def prefix(trial: Trial[TokenInputs | TranslationInputs]) -> Verdict:
    """A sequence without its last token gives the same result up to there."""
    kept = trial.inputs.length - 1
    return trial.equal(trial.inputs.take_tokens(np.arange(kept)), trial.inputs, of_second=_before(kept))


@judges("tokens.permutation", space=ModelSpace(("bert",), least_length=2), operations=_ENCODER)
def token_permutation(trial: Trial[TokenInputs]) -> Verdict:
    """With one vector for all positions reordered tokens give results in that order."""
    inputs = trial.inputs.with_equal_positions()
    order = trial.permutation(inputs.length)
    return trial.equal(inputs, inputs.take_tokens(order), of_first=lambda result: result[:, order])


@judges("source.permutation", space=ModelSpace(("bart",), least_source=2, source_padding="sometimes"))
def source_permutation(trial: Trial[TranslationInputs]) -> Verdict:
    """With one vector for all source positions their order has no influence."""
    inputs = trial.inputs.with_equal_source_positions()
    return trial.equal(inputs, inputs.take_source(trial.permutation(inputs.source.shape[1])))


@judges("vocabulary.permutation", space=_ANY, operations=_ALL)
def vocabulary_permutation(trial: Trial[DecodingInputs | TokenInputs | TranslationInputs]) -> Verdict:
    """Tokens under other numbers give the same vectors, and logits in the new order."""
    order = trial.permutation(trial.inputs.vocabulary)

    def renumbered(result: Array) -> Array:
        return result if trial.inputs.operation == "encoder" else result[..., order]

    return trial.equal(trial.inputs, trial.inputs.with_numbers(order), of_first=renumbered)


@judges("embedding.unused_row", space=ModelSpace(least_vocabulary=3), operations=_LOGITS)
def unused_row(trial: Trial[TokenInputs | TranslationInputs]) -> Verdict:
    """Another vector for a token that does not occur changes its own logit at most."""
    inputs = trial.inputs.with_spare_token()
    table = inputs.weights.embedding.copy()
    table[-1] = table[0] + 1.0
    selection: Selection = (lambda result: result[..., :-1]) if inputs.tied else everything
    return trial.equal(inputs, inputs.with_weights(embedding=table), of_first=selection, of_second=selection)


@judges("unembedding.linear", space=ModelSpace(least_vocabulary=3), operations=_LOGITS)
def unembedding(trial: Trial[TokenInputs | TranslationInputs]) -> Verdict:
    """A doubled unembedding vector doubles its token's logit and does not change the others."""
    inputs = trial.inputs.with_spare_token()
    doubled = inputs.with_unembedding_of(inputs.vocabulary - 1, lambda vector: 2.0 * vector)
    factors = np.ones(inputs.vocabulary)
    factors[-1] = 2.0
    one, other = trial.expected(inputs), trial.expected(doubled)
    allowed = one.allowed * factors + other.allowed
    return compare(trial.output(inputs) * factors, trial.output(doubled), allowed, one.judged)


@judges("source.padding.content", space=ModelSpace(source_padding="always", least_source=2))
def source_padding_content(trial: Trial[TranslationInputs]) -> Verdict:
    """Other tokens in the source's padding change nothing."""
    inputs = trial.inputs
    changed = _exchanged(inputs.source, inputs.source_padding_mask, inputs.vocabulary)
    return trial.equal(inputs, replace(inputs, source=changed))


@judges("target.padding.content", space=ModelSpace(padding="always", least_length=2))
def target_padding_content(trial: Trial[TranslationInputs]) -> Verdict:
    """Other tokens in the target's padding do not change the rows of real tokens."""
    inputs = trial.inputs
    changed = _exchanged(inputs.target, inputs.target_padding_mask, inputs.vocabulary)
    return trial.equal(inputs, replace(inputs, target=changed))


@judges("source.padding.removed", space=ModelSpace(source_padding="always", least_source=2))
def source_padding_removed(trial: Trial[TranslationInputs]) -> Verdict:
    """The last sample gives the same result alone with its source padded on the right and without padding."""
    inputs = trial.inputs
    last = inputs.take_samples(np.array([inputs.batch - 1]))
    kept = np.arange((inputs.source.shape[1] + 1) // 2)
    mask = np.zeros(last.source.shape, dtype=bool)
    mask[:, kept] = True
    alone = replace(last, source_padding_mask=None).take_source(kept)
    return trial.equal(alone, replace(last, source_padding_mask=mask))


def _exchanged(tokens: Array, mask: Array | None, vocabulary: int) -> Array:
    """Return tokens with others in the padding."""
    return np.where(present(mask), tokens, (tokens + 1) % vocabulary)


def _changed_from(cut: int, tokens: Array, vocabulary: int) -> Array:
    changed = tokens.copy()
    changed[:, cut:] = (changed[:, cut:] + 1) % vocabulary
    return changed


def _before(cut: int) -> Selection:
    return lambda result: result[:, :cut]
