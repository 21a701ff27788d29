"""Token embedding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingSpace
from veriformer.conformance_tests.operations.embedding.inputs import EmbeddingInputs

_EMBEDDING = ("token_embedding",)


@judges("value", space=EmbeddingSpace(), operations=_EMBEDDING)
@judges("scale", space=EmbeddingSpace(scaled="always"), operations=_EMBEDDING)
def agrees_with_formula(trial: Trial[EmbeddingInputs]) -> Verdict:
    """Every vector is the formula's."""
    return trial.agrees()


@judges("one_hot", space=EmbeddingSpace(), operations=_EMBEDDING)
def one_hot(trial: Trial[EmbeddingInputs]) -> Verdict:
    """The vectors of the identity's rows are one-hot, and their product with the table is the lookup."""
    inputs = trial.inputs
    rows = trial.output(replace(inputs, table=np.eye(inputs.vocabulary)))
    looked_up = trial.output(inputs)
    return compare(rows @ inputs.table, looked_up, np.zeros(looked_up.shape))


@judges("vocabulary.permutation", space=EmbeddingSpace(scaled="sometimes", least_vocabulary=2), operations=_EMBEDDING)
def vocabulary(trial: Trial[EmbeddingInputs]) -> Verdict:
    """Tokens and rows under other numbers give the same vectors."""
    inputs = trial.inputs
    order = trial.permutation(inputs.vocabulary)
    renumbered = replace(inputs, tokens=np.argsort(order)[inputs.tokens], table=inputs.table[order])
    return trial.equal(inputs, renumbered)


@judges("tokens.independence", space=EmbeddingSpace(least_positions=2, least_vocabulary=2), operations=_EMBEDDING)
def one_token_changed(trial: Trial[EmbeddingInputs]) -> Verdict:
    """Another token in one place does not change the other vectors."""
    inputs = trial.inputs
    changed = inputs.tokens.copy()
    place = int(trial.generator.integers(changed.size))
    changed.flat[place] = (changed.flat[place] + 1) % inputs.vocabulary

    def others(result: np.ndarray) -> np.ndarray:
        return np.delete(result.reshape(-1, result.shape[-1]), place, axis=0)

    return trial.equal(inputs, inputs.with_tokens(changed), of_first=others, of_second=others)


@judges("tokens.repeated", space=EmbeddingSpace(scaled="sometimes", least_positions=2), operations=_EMBEDDING)
def repeated_token(trial: Trial[EmbeddingInputs]) -> Verdict:
    """One token everywhere has one vector everywhere."""
    inputs = trial.inputs
    same = inputs.with_tokens(np.full_like(inputs.tokens, inputs.tokens[0, 0]))
    output, allowed = trial.output(same), trial.allowed(same)
    return compare(np.broadcast_to(output[:1, :1], output.shape), output, 2.0 * allowed)
