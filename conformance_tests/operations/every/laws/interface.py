"""The laws of every operation: signature, shape, dtype, purity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.first_calls import FirstCalls
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.subject import WrongShape, shape_words
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.batches import reseeded
from veriformer.conformance_tests.drawing.space import NoSpace, OwnSpace
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.masks.inputs import CausalMaskInputs, PaddingMaskInputs
from veriformer.conformance_tests.operations.relative_positions.inputs import BucketInputs

_AS_BEFORE = "the answers to the first calls of this process"


@judges("signature", space=NoSpace())
def signature(trial: Trial[None]) -> Verdict:
    """The parameters are those of the interface, spelt as there."""
    operation, implementation = trial.subject.operation, trial.subject.implementation
    misspelt = implementation.misspelt_keywords(operation.name)
    faults = [f"keyword {got!r}, which looks like {meant!r} misspelt" for got, meant in misspelt]
    refusal = implementation.unaccepted_call(operation.name)
    faults += [f"a signature that does not take the required parameters ({refusal})"] if refusal else []
    return words(operation.signature, "; ".join(faults) or "a signature that fits", holds=not faults)


@judges("shape", space=OwnSpace())
def shape(trial: Trial[Inputs]) -> Verdict:
    """The result has the shape of the interface."""
    result = trial.subject.run(trial.subject.prepare(trial.inputs), trial.inputs)
    expected, received = trial.inputs.result_shapes, result.shapes
    return words(shape_words(expected), shape_words(received), holds=expected == received)


@judges("dtype", space=OwnSpace())
def dtype(trial: Trial[Inputs]) -> Verdict:
    """The result has the dtype of the inputs."""
    result = trial.subject.run(trial.subject.prepare(trial.inputs), trial.inputs)
    return words(trial.inputs.dtype, result.dtype, holds=result.dtype == trial.inputs.dtype)


@judges("dtype", space=OwnSpace(), operations=("causal_mask", "padding_mask"))
def boolean(trial: Trial[CausalMaskInputs | PaddingMaskInputs]) -> Verdict:
    """A mask is boolean."""
    result = trial.subject.run(trial.subject.prepare(trial.inputs), trial.inputs)
    return words("bool", result.dtype, holds=result.dtype == "bool")


@judges("dtype", space=OwnSpace(), operations=("relative_position_bucket",))
def integers(trial: Trial[BucketInputs]) -> Verdict:
    """Buckets are integers of any width."""
    result = trial.subject.run(trial.subject.prepare(trial.inputs), trial.inputs)
    return words("an integer dtype", result.dtype, holds="int" in result.dtype)


@judges("inputs_unchanged", space=OwnSpace())
def inputs_unchanged(trial: Trial[Inputs]) -> Verdict:
    """No argument is written to."""
    prepared = trial.subject.prepare(trial.inputs)
    before = {name: array.copy() for name, array in prepared.arguments_now().items()}
    trial.subject.run(prepared, trial.inputs)
    after = prepared.arguments_now()
    # What cannot be read any more was deleted.
    changed = [
        name for name in before if name not in after or not np.array_equal(before[name], after[name], equal_nan=True)
    ]
    return words(
        "arguments as they were",
        f"changed {', '.join(changed)}" if changed else "the same",
        holds=not changed,
    )


@judges("result_kept", space=OwnSpace())
def result_kept(trial: Trial[Inputs]) -> Verdict:
    """The first result is unchanged after its arguments have been overwritten and passed again."""
    first, afterwards = trial.subject.run_again_on(trial.inputs, _with_other_values(trial, 1))
    if first.shape != afterwards.shape:
        return words(f"shape {first.shape}", f"shape {afterwards.shape} after the second call", holds=False)
    note = "actual is the first result as it stands after the second call"
    return compare(first, afterwards, np.zeros(first.shape), note=note)


@judges("same_call_same_answer", space=OwnSpace())
def same_call_same_answer(trial: Trial[Inputs]) -> Verdict:
    """A second call with the same arrays repeats the first's answer."""
    prepared = trial.subject.prepare(trial.inputs)
    first = trial.subject.run(prepared, trial.inputs).value
    return _repeats(trial, first, trial.subject.run(prepared, trial.inputs).value)


def first_calls_again(trial: Trial[None]) -> Verdict:
    """The first calls of the process give the same results when they are repeated."""
    for call in tuple(trial.subject.first_calls.kept):
        subject = replace(trial.subject, conventions=call.conventions, first_calls=FirstCalls())
        subject.calls.clear()
        try:
            verdict = _repeats(Trial(subject, None, call.inputs), call.answer, subject.call(call.inputs))
        except (AdapterError, WrongShape):
            continue  # that it raises now is the business of the laws in which it does
        if not verdict.holds:
            return replace(verdict, note=f"expected is the answer to this call when it was call {call.number}")
    return words(_AS_BEFORE, _AS_BEFORE, holds=True)


@judges("history_independence", space=OwnSpace(), afterwards=first_calls_again)
def history_independence(trial: Trial[Inputs]) -> Verdict:
    """Calls with other values in between do not change the result, also on arrays that held other values before."""
    # The arrays are kept to the end, so that no others take their addresses.
    prepared = [trial.subject.prepare(trial.inputs) for _ in range(2)]
    first = trial.subject.answer(prepared[0], trial.inputs)
    others = [_with_other_values(trial, seed) for seed in (1, 2)]
    for inputs in others:
        trial.subject.call(inputs)
    verdict = _repeats(trial, first, trial.subject.answer(prepared[1], trial.inputs))
    if not verdict.holds or trial.inputs.steps:
        return verdict
    # A cache keyed by the address of an array is certainly used again if the address is the same.
    second = trial.subject.call_where_others_stood(trial.inputs, others[0])
    return verdict if second is None else _repeats(trial, first, second)


@judges("memory_layout", space=OwnSpace())
def memory_layout(trial: Trial[Inputs]) -> Verdict:
    """Strided views give the answer of contiguous arrays."""
    contiguous = trial.subject.call(trial.inputs)
    return _repeats(trial, contiguous, trial.subject.call(trial.inputs, strided=True))


def _repeats(trial: Trial[Inputs], first: np.ndarray, second: np.ndarray) -> Verdict:
    """Judge whether two answers to one question agree; kernels may round differently at another address."""
    if np.array_equal(first, second):
        # Equal to the last bit: how much they might have differed need not be known.
        return compare(first, second, np.zeros(first.shape))
    # NaN or ∞ has no bound: a warning about it would be taken for something that the program printed.
    with np.errstate(all="ignore"):
        expected = trial.expected(trial.inputs)
        allowed = expected.allowed + trial.inputs.loosest_error(trial.conventions)
    if first.shape != second.shape:
        return words(f"shape {first.shape}", f"shape {second.shape}", holds=False)
    if first.shape != expected.value.shape:
        alike = np.array_equal(first, second, equal_nan=True)
        return words("the same answer", "the same answer" if alike else "another answer", holds=alike)
    # Whatever is wrong with the values is not this law's business: see `Trial.equal`.
    # Without a bound on rounding, as behind a NaN, the result is unknown.
    return compare(first, second, np.where(np.isnan(allowed), np.inf, 2.0 * allowed), expected.judged)


def _with_other_values(trial: Trial[Inputs], by: int) -> Inputs:
    """Return inputs of the same sizes with other values; tables of lengths have no values to change."""
    if trial.case is None:
        raise TypeError("this law is tried on cases")
    inputs: Inputs = draw_inputs(trial.inputs.operation, reseeded(trial.case, trial.case.seed + by))
    return inputs
