"""The mistakes that broken laws would name, and refute: these would have broken them in another way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord, Subject, WrongShape
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace, box_cases
from veriformer.conformance_tests.operations.black_box.inputs import BoxInputs

# Python's words for a parameter without a default that a call leaves out.
_LEFT_OUT = "missing a required"
_WITHOUT_DEFAULT = "parameter_without_default"
_SQUEEZING = "squeeze_drops_axis_of_one"
_OFF_BY_ONE = "causal_diagonal_off_by_one"
# So many inputs of a model are tried, each of at least so many tokens.
_ASKED = 6
_TOKENS = 6
_APART = 1e-3
Shape = tuple[int, ...]


def spoken_against(subject: Subject, broken: Sequence[LawResult], limits: Limits) -> frozenset[str]:
    """Return the mistakes that would have broken these laws in another way.

    A call may raise for another reason than a missing default. A wrong shape may be another than that of a squeezed
    result. A model that lets later tokens through may let through more than the next.
    """
    against: set[str] = set() if _has_a_parameter_left_out(broken) else {_WITHOUT_DEFAULT}
    if any(not _squeezed(call) for call in _wrong_shapes(broken)):
        against.add(_SQUEEZING)
    if any(result.law.id == "model.causal.no_future_leak" for result in broken) and _reads_far_ahead(subject, limits):
        against.add(_OFF_BY_ONE)
    return frozenset(against)


def _reads_far_ahead(subject: Subject, limits: Limits) -> bool:
    """Return whether the last token reaches the first half: a layer that is off by one reads one token ahead."""
    choice, random = box_cases(BoxSpace(declared="causal", least_length=_TOKENS), limits), Random(limits.seed)
    for _ in range(_ASKED):
        inputs = BoxInputs.draw("model", choice.sample(random))
        last = np.broadcast_to(np.arange(inputs.length) == inputs.length - 1, inputs.inputs.shape[:2])
        try:
            first, second = (np.asarray(subject.call(one)) for one in (inputs, inputs.changed_at(last)))
        except (AdapterError, WrongShape):
            continue
        half = inputs.length // 2
        if np.abs(first - second)[:, :half].max(initial=0.0) > _APART * np.abs(first).max(initial=0.0):
            return True
    return False


def _has_a_parameter_left_out(broken: Sequence[LawResult]) -> bool:
    of_signature = [one.counterexample for one in broken if one.law.claim.key == "signature"]
    said = [found.verdict.actual for found in of_signature if found]
    return not said or any(isinstance(words, str) and _LEFT_OUT in words for words in said)


def _wrong_shapes(broken: Sequence[LawResult]) -> Iterator[CallRecord]:
    for result in broken:
        for call in result.counterexample.calls if result.counterexample else ():
            if call.inputs is not None and call.result is not None and call.shapes != call.inputs.result_shapes:
                yield call


def _squeezed(call: CallRecord) -> bool:
    """Return whether a result has the axes of the right one, but for some of length one."""
    expected = call.inputs.result_shapes if call.inputs is not None else ()
    pairs = zip(expected, call.shapes, strict=False)
    return len(expected) == len(call.shapes) and all(_without_ones(right) == _without_ones(one) for right, one in pairs)


def _without_ones(shape: Shape) -> Shape:
    return tuple(length for length in shape if length != 1)
