"""Laws of the gradient of the table of tokens' vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingSpace
from veriformer.conformance_tests.operations.embedding_backward.inputs import EmbeddingBackwardInputs
from veriformer.conformance_tests.operations.gradients import linear, without_grad_output
from veriformer.conformance_tests.operations.parts import agrees_in
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_EMBEDDING = ("token_embedding_backward",)
_ANY = EmbeddingSpace(scaled="sometimes")
_SEVERAL = replace(_ANY, least_positions=2)

judges("grad_table", space=EmbeddingSpace(least_positions=2), operations=_EMBEDDING)(agrees_in())
judges("scale", space=EmbeddingSpace(scaled="always"), operations=_EMBEDDING)(agrees_in())
judges("grad_output.zero", space=_ANY, operations=_EMBEDDING)(without_grad_output)


@judges("grad_output.linear", space=_ANY, operations=_EMBEDDING)
def linear_in_grad_output(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """Twice one gradient of the vectors plus another gives twice the gradient plus the other."""
    # Whole numbers, so that combinations are exact.
    whole = trial.inputs.with_cotangents(grad_output=np.rint(3.0 * trial.inputs.grad_output))
    return linear(replace(trial, inputs=whole))


@judges("tokens.absent", space=replace(_SEVERAL, least_vocabulary=2), operations=_EMBEDDING)
def absent(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """After a token has made way for the next one, its row has no gradient."""
    inputs = trial.inputs
    gone = int(inputs.tokens.flat[int(trial.generator.integers(inputs.tokens.size))])
    others = inputs.with_tokens(np.where(inputs.tokens == gone, (gone + 1) % inputs.vocabulary, inputs.tokens))
    row = trial.output(others)[gone]
    return compare(np.zeros(row.shape), row, np.zeros(row.shape))


@judges("tokens.repeated", space=_SEVERAL, operations=_EMBEDDING)
def repeated(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """One token everywhere gets the sum of all gradients, and no other token any."""
    inputs = trial.inputs
    token = int(inputs.tokens[0, 0])
    same = inputs.with_tokens(np.full_like(inputs.tokens, token))
    expected = np.zeros(inputs.table.shape)
    expected[token] = inputs.factor * inputs.grad_output.sum(axis=(0, 1))
    return compare(expected, trial.output(same), trial.allowed(same))


@judges("total", space=_SEVERAL, operations=_EMBEDDING)
def total(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """The rows of the gradient add up to all gradients of the vectors."""
    inputs = trial.inputs
    of_places = inputs.factor * inputs.grad_output.sum(axis=(0, 1))
    sizes = inputs.factor * np.abs(inputs.grad_output).sum(axis=(0, 1))
    # Of the sums taken here.
    own = 2.0 * (inputs.tokens.size + inputs.vocabulary) * UNIT_ROUNDOFF["float64"] * sizes
    return compare(of_places, trial.output(inputs).sum(axis=0), trial.allowed(inputs).sum(axis=0) + own)


@judges("positions.permutation", space=_SEVERAL, operations=_EMBEDDING)
def places(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """All places of all samples in another order, each with its gradient, give the same."""
    inputs = trial.inputs
    return trial.equal(inputs, inputs.take_places(trial.permutation(inputs.tokens.size)))


@judges("vocabulary.permutation", space=replace(_ANY, least_vocabulary=2), operations=_EMBEDDING)
def vocabulary(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """Tokens and rows under other numbers give the same gradients, under these numbers."""
    inputs = trial.inputs
    order = trial.permutation(inputs.vocabulary)
    renumbered = replace(inputs, tokens=np.argsort(order)[inputs.tokens], table=inputs.table[order])
    return trial.equal(inputs, renumbered, of_first=lambda result: result[order])


@judges("grad_output.own", space=replace(_SEVERAL, least_vocabulary=2), operations=_EMBEDDING)
def own_row(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """Another gradient in one place leaves the rows of the other tokens as they are."""
    inputs = trial.inputs
    place = int(trial.generator.integers(inputs.tokens.size))
    changed = inputs.grad_output.copy()
    changed.reshape(-1, changed.shape[-1])[place] += 3.0

    def others(result: Array) -> Array:
        return np.delete(result, inputs.tokens.flat[place], axis=0)

    return trial.equal(inputs, inputs.with_cotangents(grad_output=changed), of_first=others, of_second=others)


@judges("table.no_influence", space=_ANY, operations=_EMBEDDING)
def other_table(trial: Trial[EmbeddingBackwardInputs]) -> Verdict:
    """Another table gives the same gradient."""
    inputs = trial.inputs
    other = trial.generator.integers(-3, 4, inputs.table.shape).astype(np.float64)
    return trial.equal(inputs, replace(inputs, table=other))
