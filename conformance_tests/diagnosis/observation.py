"""The result of one call, and whether a point of the family gives the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.diagnosis.work import counting, steps_of_a_candidate
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF
from veriformer.conformance_tests.variants.family import NotDefined, Point

# A wrong formula may round so many times worse than the right one; candidates that matter differ by more.
_MARGIN = 4.0
_ROUNDINGS = 16.0
# An explanation leaves less than this part of the deviation from the right result unexplained, rounding included.
_LARGEST_REST = 0.1
_NEGLIGIBLE_REST = 1e-3
# Where rounding blurs a result, an explanation is at least nearer to it than the right result is.
_LARGEST_BLURRED_REST = 0.5
_FAMILY_ROUNDING = 1e-9
# Exponentials of numbers beyond this may leave the range of float32 where a wrong formula does not shift them.
_LARGE = 16.0
# Arguments in which −∞ is a value; in the others it hides a key.
_CONTENTS = ("query", "key", "value", "x", "context", "grad_output")
# Logits made of numbers up to this are small enough for their exponentials.
_MODERATE = 4.0
# Where roundings grow beyond this many, a wrong formula may do what none in exact arithmetic does, such as underflow.
_MOST_ROUNDINGS = 1e4


@dataclass(frozen=True, eq=False)
class Observation:
    """One call: its arguments, what came, and what the reference returns under the implementation's conventions.

    `steps` is what computing a candidate on it takes.
    """

    arguments: Mapping[str, Any]
    output: Array
    right: Array
    judged: Array
    allowed: Array
    rounding: float
    unit: float
    steps: int = 1

    @property
    def size(self) -> int:
        """How many numbers a candidate has to reproduce."""
        return self.output.size

    def judged_everywhere(self) -> Observation:
        """Return the same call with every entry compared, even where correct results may differ."""
        return replace(self, judged=np.ones_like(self.judged))

    @cached_property
    def deviates(self) -> bool:
        """Whether the output is not that of the reference: a correct implementation stays within its own rounding."""
        return bool(self._wrong.any())

    @property
    def deviates_from_nan_alone(self) -> bool:
        """Whether all entries that deviate should be NaN: compiled code may leave anything there."""
        return self.deviates and bool(np.isnan(self.right[self._wrong]).all())

    @cached_property
    def _wrong(self) -> Array:
        slack = _ROUNDINGS * self.unit * _largest(self.right[self.judged])
        return np.asarray(self._errors(self.right, self.output) > self.allowed + slack)

    @property
    def deviates_within_noise(self) -> bool:
        """Whether each wrong entry is wrong by less than others may be: a wrong path may bring their rounding there."""
        return self.deviates and self._deviation <= _largest(self.allowed)

    @property
    def says_much(self) -> bool:
        """Whether rounding disturbs the result little, compared with its size or with its deviation."""
        size = _MOST_ROUNDINGS * self.unit * max(_largest(self.right), _largest(self.output))
        wrong = self._deviation / _MOST_ROUNDINGS if np.isfinite(self._deviation) else 0.0
        return self.rounding <= max(size, wrong)

    @property
    def overflowed(self) -> bool:
        """Whether numbers are so large that an entry may not be finite for their size, and not for the formula."""
        return self._largest_argument > _LARGE and bool(
            (self.judged & np.isfinite(self.right) & ~np.isfinite(self.output)).any()
        )

    @property
    def moderate(self) -> bool:
        """Whether numbers are so small that nothing computed from them leaves the range of float32."""
        return self._largest_argument <= _MODERATE

    @cached_property
    def _largest_argument(self) -> float:
        floats = [np.abs(value) for value in self.arguments.values() if _is_float(value)]
        return max((float(array[np.isfinite(array)].max(initial=0.0)) for array in floats), default=0.0)

    def fits(self, point: Point) -> bool:
        """Return whether a point of the family gives the result of the call, up to rounding."""
        result = result_at(point, self.arguments)
        return result is not None and self.agrees(result)

    def is_nearer(self, point: Point) -> bool:
        """Return whether a point of the family is nearer to the result of the call than the right result is."""
        result = result_at(point, self.arguments)
        if result is None:
            return False
        rest = self._between(result, self.output)
        if not np.isfinite(self._deviation):
            return bool(np.isfinite(rest))
        return rest <= _LARGEST_BLURRED_REST * self._deviation

    def is_noise_beside(self, point: Point) -> bool:
        """Return whether neither the right result nor that of a point differs from the call's by more than noise."""
        if not self.deviates_within_noise:
            return False
        result = result_at(point, self.arguments)
        return result is not None and self._between(result, self.output) <= _largest(self.allowed)

    def agrees(self, result: Array) -> bool:
        """Return whether a result is that of the call, up to rounding."""
        if result.shape != self.output.shape:
            return False
        tolerance = self._tolerance(result)
        if self.deviates and np.isfinite(self._deviation):
            # A part of the deviation at most, but never less than the rounding of any program.
            least = _ROUNDINGS * self.unit * _largest(self.right[self.judged])
            rest = max(_LARGEST_REST * self._deviation, least)
            tolerance = max(_NEGLIGIBLE_REST * self._deviation, min(tolerance, rest))
        return self._between(result, self.output) <= tolerance

    def share(self, result: Array) -> float:
        """Return the part of the wrong entries that a result reproduces; 0 where no entry is wrong."""
        if result.shape != self.output.shape:
            return 0.0
        tolerance = self._tolerance(result)
        wrong = self._errors(self.right, self.output) > tolerance
        return float((wrong & (self._errors(result, self.output) <= tolerance)).sum() / max(wrong.sum(), 1))

    def moved(self, result: Array) -> bool:
        """Return whether a result differs from the right one by more than a family's own rounding."""
        return self._between(result, self.right) > _FAMILY_ROUNDING * max(1.0, _largest(self.right))

    @cached_property
    def _deviation(self) -> float:
        return self._between(self.right, self.output)

    def _between(self, first: Array, second: Array) -> float:
        """Return the largest difference in a judged entry; infinite where one is not finite and the other not that."""
        return float("inf") if first.shape != second.shape else float(self._errors(first, second).max(initial=0.0))

    def _errors(self, first: Array, second: Array) -> Array:
        with np.errstate(invalid="ignore"):
            error = np.abs(first - second)
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        return np.where(same | ~self.judged, 0.0, np.where(np.isnan(error), np.inf, error))

    def _tolerance(self, result: Array) -> float:
        largest, right = (_largest(array[self.judged]) for array in (result, self.right))
        growth = max(1.0, largest / right) if right > 0 else 1.0
        return _MARGIN * self.rounding * growth + _ROUNDINGS * self.unit * largest


def observed(subject: Subject, inputs: Inputs, base: Point, *, strided: bool = False) -> Observation | None:
    """Return what the implementation does with some inputs, contiguous in memory or `strided`.

    None where it raises, or where the inputs are not finite: what reaches the output then is a convention.
    """
    if not finite(arguments_of(inputs)):
        return None
    try:
        output = np.asarray(subject.call(inputs, strided=strided), dtype=np.float64)
        inputs = inputs.as_drawn(output)
        with np.errstate(all="ignore"):
            expected = inputs.expected(subject.conventions)
            bounds = (expected.allowed, inputs.loosest_error(subject.conventions))
    except (AdapterError, WrongShape):
        return None
    arguments = arguments_of(inputs)
    point, decisions = counting(base)
    right = result_at(point, arguments)
    if right is None:
        return None
    steps = steps_of_a_candidate(len(decisions), (arguments, right))
    # Where the family decides about rows without a key, these are compared like the others.
    value = subject.conventions.get("empty_row")
    judges_all = any(
        decision.convention == "empty_row" and value in {option.name for option in decision.options}
        for decision in base.family.all_decisions.values()
    )
    judged = np.ones(output.shape, dtype=bool) if judges_all else np.broadcast_to(expected.judged, output.shape)
    rounding = max(_largest(bound) for bound in bounds)
    unit = UNIT_ROUNDOFF.get(inputs.dtype, UNIT_ROUNDOFF["float64"])
    allowed = np.broadcast_to(np.where(np.isnan(expected.allowed), 0.0, expected.allowed), output.shape)
    return Observation(arguments, output, right, judged, allowed, rounding, unit, steps)


def calm(observations: Sequence[Observation]) -> list[Observation]:
    """Leave out what overflowed, is wrong only instead of NaN, or by noise, each unless nothing else deviates.

    A family computes in double precision, and nothing of it is compiled.
    """
    calmer = list(observations)
    for unfit in (attrgetter(name) for name in ("overflowed", "deviates_from_nan_alone", "deviates_within_noise")):
        kept = [one for one in calmer if not unfit(one)]
        if any(one.deviates for one in kept):
            calmer = kept
    return calmer


def result_at(point: Point, arguments: Mapping[str, Any]) -> Array | None:
    """Return what a point of the family returns; None where it is not defined, or reads an axis that is not there."""
    try:
        return point.compute(arguments)
    except (NotDefined, ArithmeticError, LookupError, ValueError):
        # A program with these decisions would raise there.
        return None


def arguments_of(inputs: Inputs) -> dict[str, Any]:
    """Return what a family takes: the arguments of the call, its `dtype`, for a chain of calls its `steps`, and of a
    random operation what it drew (`drawn`), where that is known.
    """
    further = {"steps": inputs.steps or None, "drawn": inputs.drawn}
    known = {name: value for name, value in further.items() if value is not None}
    return {**inputs.arguments(), "dtype": inputs.dtype, **known}


def _largest(array: Array) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))


def finite(arguments: Mapping[str, Any]) -> bool:
    """Return whether no argument holds a NaN or an infinity, save −∞ where it hides a key."""
    floats = {name: value for name, value in arguments.items() if _is_float(value)}
    return all(
        np.isfinite(array).all() if name in _CONTENTS else not (np.isnan(array) | np.isposinf(array)).any()
        for name, array in floats.items()
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
