"""Laws of a model of unknown formula.

Without a formula there is no analysis of its rounding. Two of its results agree if they differ by at most √u times the
largest entry, u the unit roundoff: its layers may lose half of the digits.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from veriformer.adapters.errors import OperationRaised
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import NotOffered, Selection, Trial, everything
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.batches import reseeded
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace
from veriformer.conformance_tests.operations.black_box.inputs import BoxInputs
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_MODEL = ("model",)
_ANY = BoxSpace(padding="sometimes")
_SINGLE_TOKENS = 3
_SEVERAL = BoxSpace(padding="sometimes", least_batch=2)


@judges("dtype", space=_ANY, operations=_MODEL)
def dtype(trial: Trial[BoxInputs]) -> Verdict:
    """A model of vectors returns their dtype."""
    inputs = trial.inputs
    if inputs.vocabulary:
        raise NotOffered("numbers of tokens have no dtype that the result could share")
    result = trial.subject.run(trial.subject.prepare(inputs), inputs)
    return words(inputs.dtype, result.dtype, holds=result.dtype == inputs.dtype)


@judges("same_call_same_answer", space=_ANY, operations=_MODEL)
def same_call_same_answer(trial: Trial[BoxInputs]) -> Verdict:
    """A second call with the same arrays repeats the first's answer."""
    return _repeats(trial, trial.output(trial.inputs), trial.output(trial.inputs))


@judges("history_independence", space=_ANY, operations=_MODEL)
def history_independence(trial: Trial[BoxInputs]) -> Verdict:
    """Calls with other values in between do not change the result."""
    first = trial.output(trial.inputs)
    if trial.case is None:
        raise TypeError("this law is tried on cases")
    for number in (1, 2):
        trial.output(draw_inputs("model", reseeded(trial.case, trial.case.seed + number)))
    return _repeats(trial, first, trial.output(trial.inputs))


@judges("memory_layout", space=_ANY, operations=_MODEL)
def memory_layout(trial: Trial[BoxInputs]) -> Verdict:
    """Strided views give the result of contiguous arrays, if the model takes any. The tokens of a model are made by its
    caller and contiguous: refusing others is a limitation.
    """
    contiguous = trial.output(trial.inputs)
    try:
        strided = trial.subject.call(trial.inputs, strided=True)
    except OperationRaised as error:
        raised = str(error).removeprefix("model ")
        raise NotOffered(f"model takes contiguous arrays only: it {raised}") from error
    return _repeats(trial, contiguous, strided)


@judges("batch.independence", space=_SEVERAL, operations=_MODEL)
def batch_independence(trial: Trial[BoxInputs]) -> Verdict:
    """The last sample gives the same result alone as in its batch."""
    last = np.array([trial.inputs.batch - 1])
    return _equal(trial, trial.inputs.take_samples(last), trial.inputs, of_second=lambda result: result[last])


@judges("batch.permutation", space=_SEVERAL, operations=_MODEL)
def batch_permutation(trial: Trial[BoxInputs]) -> Verdict:
    """Samples in another order give results in that order."""
    order = trial.permutation(trial.inputs.batch)
    return _equal(trial, trial.inputs, trial.inputs.take_samples(order), of_first=lambda result: result[order])


@judges("batch.arguments", space=BoxSpace(least_batch=2), operations=_MODEL)
def own_arguments(trial: Trial[BoxInputs]) -> Verdict:
    """The samples without the first, in the opposite order, are answered as before by their own further arguments."""
    inputs = replace(trial.inputs, samples=np.arange(trial.inputs.batch))
    order = np.arange(1, inputs.batch)[::-1]
    return _equal(trial, inputs.take_samples(order), inputs, of_second=lambda result: result[order])


@judges("padding.left", space=BoxSpace(padding="always", sides=("left",)), operations=_MODEL)
@judges("padding.content", space=BoxSpace(padding="always", long=True), operations=_MODEL)
def padding_content(trial: Trial[BoxInputs]) -> Verdict:
    """Other content in the padding does not change the rest."""
    inputs = trial.inputs
    return _equal(trial, inputs, inputs.changed_at(~_real(inputs)))


@judges("padding.removed", space=BoxSpace(padding="always"), operations=_MODEL)
def padding_removed(trial: Trial[BoxInputs]) -> Verdict:
    """The last sample, without its padding, gives the same result alone as in the padded batch."""
    inputs = trial.inputs
    last = inputs.batch - 1
    real = np.flatnonzero(_real(inputs)[last])
    alone = replace(inputs, padding_mask=None).take_samples(np.array([last])).take_tokens(real)
    return _equal(trial, alone, inputs, of_second=lambda result: result[last:, real])


@judges("padding.all_real", space=BoxSpace(padding="always"), operations=_MODEL)
def all_real(trial: Trial[BoxInputs]) -> Verdict:
    """A mask that hides nothing gives the same result as no mask."""
    plain = replace(trial.inputs, padding_mask=None)
    return _equal(trial, plain, replace(plain, padding_mask=np.ones_like(trial.inputs.padding_mask)))


@judges("causal.no_future_leak", space=BoxSpace(declared="causal", least_length=2, long=True), operations=_MODEL)
def no_future_leak(trial: Trial[BoxInputs]) -> Verdict:
    """Other content behind a cut does not change what is before it; each sample has a cut of its own."""
    inputs = trial.inputs
    later = np.arange(inputs.length) >= _cuts(inputs, trial.case.seed if trial.case else 0)[:, None]
    first, second = trial.output(inputs), trial.output(inputs.changed_at(later))
    return _agree(trial, first, second, (~later & _real(inputs))[..., None])


@judges("causal.prefix", space=BoxSpace(declared="causal", least_length=2), operations=_MODEL)
def prefix(trial: Trial[BoxInputs]) -> Verdict:
    """The first two thirds of a sequence give the results that they have in the whole one."""
    kept = np.arange(max(1, 2 * trial.inputs.length // 3))
    plain = replace(trial.inputs, padding_mask=None)
    return _equal(trial, plain.take_tokens(kept), plain, of_second=lambda result: result[:, kept])


def _cuts(inputs: BoxInputs, seed: int) -> Array:
    """Return for each sample the first position of other content: the last, the middle, the second, and so on."""
    places = (inputs.length - 1, inputs.length // 2, 1)
    # A single sample has one of them.
    first = seed if inputs.batch == 1 else 0
    return np.array([places[(first + sample) % len(places)] for sample in range(inputs.batch)])


@judges("cache.tokens", space=BoxSpace(least_length=3, long=True), operations=_MODEL)
def token_by_token(trial: Trial[BoxInputs]) -> Verdict:
    """A prompt, then up to three tokens one by one, give the results of the whole sequence."""
    length = trial.inputs.length
    single = min(_SINGLE_TOKENS, length - 1)
    return _equal(trial, trial.inputs, replace(trial.inputs, parts=(length - single, *[1] * single)))


@judges("cache.parts", space=BoxSpace(least_length=4), operations=_MODEL)
def in_parts(trial: Trial[BoxInputs]) -> Verdict:
    """A second part of several tokens gives the results of the whole sequence."""
    length = trial.inputs.length
    first = int(trial.generator.integers(1, length - 1))
    return _equal(trial, trial.inputs, replace(trial.inputs, parts=(first, length - first)))


@judges("tokens.permutation", space=BoxSpace(declared="permutation_equivariant", least_length=2), operations=_MODEL)
def token_permutation(trial: Trial[BoxInputs]) -> Verdict:
    """Inputs in another order give results in that order."""
    order = trial.permutation(trial.inputs.length)
    return _equal(trial, trial.inputs, trial.inputs.take_tokens(order), of_first=lambda result: result[:, order])


def _real(inputs: BoxInputs) -> Array:
    return np.ones(inputs.inputs.shape[:2], dtype=bool) if inputs.padding_mask is None else inputs.padding_mask


def _equal(
    trial: Trial[BoxInputs],
    first: BoxInputs,
    second: BoxInputs,
    *,
    of_first: Selection = everything,
    of_second: Selection = everything,
) -> Verdict:
    """Judge whether two calls agree at the rows that are real in both."""
    judged = of_first(_real(first)[..., None]) & of_second(_real(second)[..., None])
    return _agree(trial, of_first(trial.output(first)), of_second(trial.output(second)), judged)


def _repeats(trial: Trial[BoxInputs], first: Array, second: Array) -> Verdict:
    """Judge whether two results of one question agree; NaN twice is the same result, which other laws judge."""
    return _agree(trial, first, second, _real(trial.inputs)[..., None], may_be_nan=True)


def _agree(trial: Trial[BoxInputs], first: Array, second: Array, judged: Array, *, may_be_nan: bool = False) -> Verdict:
    if first.shape != second.shape:
        return words(f"shape {first.shape}", f"shape {second.shape}", holds=False)
    judged = np.broadcast_to(judged, first.shape)
    seen = np.abs(np.concatenate([first[judged], second[judged]]))
    largest = np.max(seen, initial=0.0, where=np.isfinite(seen))
    allowed = np.full(first.shape, sqrt(UNIT_ROUNDOFF[trial.inputs.dtype]) * largest)
    return compare(first, second, allowed, judged, may_be_nan=may_be_nan)
