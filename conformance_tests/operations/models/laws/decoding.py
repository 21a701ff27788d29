"""Decoding with a cache: every way to cut a sequence gives the same result as one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.adapters.sequences import Step
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.models.cases import ModelSpace
from veriformer.conformance_tests.operations.models.decoding_inputs import DecodingInputs
from veriformer.conformance_tests.operations.models.inputs import TokenInputs

_DECODING = ("decode_step",)


@judges("prefill", space=ModelSpace(cuts="one", least_length=2))
@judges("token_by_token", space=ModelSpace(cuts="all", least_length=2))
@judges("chunks", space=ModelSpace(cuts="any", least_length=3))
def as_one_pass(trial: Trial[DecodingInputs]) -> Verdict:
    """From the first cut on, the sequence in one call gives the same result as the chain of calls."""
    inputs = trial.inputs
    start = inputs.cuts[0]

    def continued(logits: Array) -> Array:
        return logits[:, start:]

    return trial.equal(inputs.decoding(inputs.tokens), inputs, of_first=continued, of_second=continued)


@judges("language_model", space=ModelSpace(), operations=_DECODING)
def as_language_model(trial: Trial[DecodingInputs]) -> Verdict:
    """The language model gives the same result as decoding the whole sequence."""
    inputs = trial.inputs
    implementation = trial.subject.implementation
    if not implementation.declares("language_model"):
        raise NotOffered("no operation language_model")
    if inputs.config.architecture not in implementation.architectures["language_model"]:
        raise NotOffered(f"language_model declares no architecture {inputs.config.architecture}")
    model = TokenInputs("language_model", inputs.dtype, inputs.weights, inputs.config, tokens=inputs.tokens)
    return trial.equal(model, inputs)


@judges("cache.kept", space=ModelSpace(cuts="one", least_length=2, least_vocabulary=2))
def cache_kept(trial: Trial[DecodingInputs]) -> Verdict:
    """A cache that was continued with other tokens is continued as if for the first time."""
    inputs = trial.inputs
    first, second = inputs.steps
    other = Step((second.tokens + 1) % inputs.vocabulary, after=0)
    branched = replace(inputs, steps=(first, other, second))
    start, length = first.tokens.shape[1], second.tokens.shape[1]
    return trial.equal(
        inputs.decoding(inputs.tokens),
        branched,
        of_first=lambda logits: logits[:, start:],
        of_second=lambda logits: logits[:, -length:],
    )


@judges("cache.apart", space=ModelSpace(cuts="one", least_length=2, least_vocabulary=2))
def caches_apart(trial: Trial[DecodingInputs]) -> Verdict:
    """Another sequence, begun in between, does not change a sequence."""
    inputs = trial.inputs
    first, second = inputs.steps
    between = Step((inputs.tokens + 1) % inputs.vocabulary)
    chain = replace(inputs, steps=(first, between, replace(second, after=0)))
    start, length = first.tokens.shape[1], second.tokens.shape[1]
    return trial.equal(
        inputs.decoding(inputs.tokens),
        chain,
        of_first=lambda logits: logits[:, start:],
        of_second=lambda logits: logits[:, -length:],
    )


@judges("greedy", space=ModelSpace(cuts="none", least_length=2))
def greedy(trial: Trial[DecodingInputs]) -> Verdict:
    """Each token chosen with the cache has the highest logit in one pass over all tokens, within rounding."""
    inputs = trial.inputs
    tokens = inputs.tokens
    chain = inputs.decoding(tokens[:, :1])
    for _ in range(tokens.shape[1] - 1):
        chosen = trial.output(chain)[:, -1:].argmax(axis=-1)
        chain = chain.followed(Step(chosen, after=len(chain.steps) - 1))
    whole = inputs.decoding(chain.tokens)
    logits, chosen = trial.output(whole)[:, :-1], chain.tokens[:, 1:, None]
    # Both passes round: a token is greedy where its logit is the highest within twice the error of each.
    allowed = 4.0 * trial.allowed(whole)[:, :-1].max(axis=-1)
    of_chosen = np.take_along_axis(logits, chosen, axis=-1)[..., 0]
    return compare(logits.max(axis=-1), of_chosen, allowed)


@judges("positions.value", space=ModelSpace(cuts="any", positions="always", least_length=2))
@judges("padding.value", space=ModelSpace(cuts="any", padding="always", least_length=3))
def agrees_with_formula(trial: Trial[DecodingInputs]) -> Verdict:
    """The logits are the formula's."""
    return trial.agrees()


@judges("positions.default", space=ModelSpace(cuts="any", least_length=2))
def counted_by_hand(trial: Trial[DecodingInputs]) -> Verdict:
    """The columns given as positions give the same result as no positions."""
    inputs = trial.inputs
    counted = np.arange(inputs.tokens.shape[1])
    return trial.equal(inputs, inputs.decoding(inputs.tokens, inputs.cuts, positions=counted))


@judges("positions.shared", space=ModelSpace(cuts="any", least_length=2, least_batch=2))
def positions_of_all(trial: Trial[DecodingInputs]) -> Verdict:
    """Positions given once give the same result as when given for each sample."""
    inputs = trial.inputs
    shared: Array = trial.generator.integers(0, inputs.config.max_length, (inputs.tokens.shape[1],))
    each = np.broadcast_to(shared, inputs.tokens.shape).copy()
    once, often = (inputs.decoding(inputs.tokens, inputs.cuts, positions=given) for given in (shared, each))
    return trial.equal(once, often)


@judges("padding.all_real", space=ModelSpace(cuts="any", least_length=2), operations=_DECODING)
def nothing_hidden(trial: Trial[DecodingInputs]) -> Verdict:
    """A mask that hides nothing gives the same result as no mask."""
    inputs = trial.inputs
    real = np.ones(inputs.tokens.shape, dtype=bool)
    return trial.equal(inputs, inputs.decoding(inputs.tokens, inputs.cuts, padding_mask=real))


@judges("padding.content", space=ModelSpace(cuts="any", padding="always", least_length=3), operations=_DECODING)
def padding_content(trial: Trial[DecodingInputs]) -> Verdict:
    """Other tokens in the padding do not change the rows of real tokens."""
    inputs = trial.inputs
    mask = present(inputs.padding_mask)
    exchanged = np.where(mask, inputs.tokens, (inputs.tokens + 1) % inputs.vocabulary)
    return trial.equal(inputs, inputs.decoding(exchanged, inputs.cuts, padding_mask=mask))


@judges("padding.positions", space=ModelSpace(cuts="any", padding="always", least_length=3))
def padding_removed(trial: Trial[DecodingInputs]) -> Verdict:
    """The last sample, in one pass without its padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    mask, last = present(inputs.padding_mask), inputs.batch - 1
    # As Hugging Face counts them, with some position at padding.
    counted = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
    padded = inputs.decoding(inputs.tokens, inputs.cuts, positions=counted, padding_mask=mask)
    real = np.flatnonzero(mask[last])
    alone = inputs.decoding(inputs.tokens[last:, real])
    return trial.equal(alone, padded, of_second=lambda logits: logits[last:, real])
