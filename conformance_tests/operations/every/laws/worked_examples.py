"""The worked examples, at their exact values."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.subject import CallRefused, Subject
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.spec.worked_examples import executable_examples


@judges("worked_examples", space=NoSpace())
def worked_examples(trial: Trial[None]) -> Verdict:
    """Every example that the operation's features allow gives its exact value; the first wrong one is shown."""
    subject, tried = trial.subject, 0
    for example in executable_examples():
        if example.operation != subject.operation.name or not _allowed(subject, example):
            continue
        subject.calls.clear()
        try:
            verdict = _judge(trial, example)
        except CallRefused:
            continue
        tried += 1
        if not verdict.holds:
            return verdict
    if not tried:
        raise NotOffered(f"no worked example uses only what {subject.operation.name} offers, by its conventions")
    return words("the exact values", f"the exact values in {tried} examples", holds=True)


def _allowed(subject: Subject, example: Any) -> bool:
    features = set(example.arguments) & set(subject.operation.features)
    follows = all(subject.conventions.get(name) == value for name, value in example.conventions.items())
    return features <= subject.features and follows


def _judge(trial: Trial[None], example: Any) -> Verdict:
    """Compare with the exact result, allowing for the rounding of the example's own numbers to the dtype."""
    dtype = trial.subject.implementation.dtypes[0]
    inputs = suite_of(example.operation).given_inputs(dtype, example.arguments)
    expected = trial.expected(inputs)
    exact = _joined(inputs, example.result)
    allowed = expected.allowed + np.abs(expected.value - exact)
    return compare(exact, trial.output(inputs), allowed, expected.judged, note=f"worked example {example.id}")


def _joined(inputs: Inputs, result: Any) -> Array:
    """Return an exact result as an array; the parts of a tuple one after the other."""
    if not isinstance(inputs, SeveralResults):
        return np.asarray(result, dtype=float)
    return join([np.asarray(part, dtype=float) for part in result])
