"""Calls of a function in a form, and how near its results come to those of the reference."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import describe
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import first_answer
from veriformer.adapters.matching.looking import BudgetSpent, refuse_if_spent
from veriformer.adapters.matching.picks import Pick, picks
from veriformer.adapters.matching.places import ByPlace
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.weights import convert_weights
from veriformer.spec.operations import OPERATIONS

_CHANGED_ENTRIES = 2
_SEED = 3
_FLOATS = ("float", "weights")


@dataclass
class Trials:
    """The calls of one function of a framework, and why the last one failed."""

    function: Callable[..., Any]
    framework: ArrayFramework
    calls: int = 0
    failure: str = ""
    dtype: str = "float32"
    _converted: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def forms(self, form: Form, probe: Probe) -> Iterator[tuple[Form, np.ndarray]]:
        """Yield the form with each part of what the function returns that has the result's shape, and the result."""
        returned = self.returned(form, probe)
        for pick, _ in self._picks(form, returned, probe):
            for one in (replace(form, pick=pick), replace(form, pick=replace(pick, axes=probe.expected.ndim))):
                result = self.result(one, probe)
                if result is not None and result.shape == probe.expected.shape:
                    yield one, result
                    break
                self.failure = self.failure or f"its result has the shape {getattr(result, 'shape', '?')}"

    def _picks(self, form: Form, returned: Any, probe: Probe) -> Iterator[tuple[Pick, Any]]:
        if returned is None:
            return iter(())
        results = OPERATIONS[form.operation].results
        if results and isinstance(returned, tuple | list) and len(returned) == len(results):
            return iter([(Pick(), returned)])
        if isinstance(returned, list) and returned and all(type(one) in (int, float) for one in returned):
            # Numbers of Python, of which a form may make an array.
            return iter([(Pick(), returned)])
        counted = probe.arguments["targets"].size if form.operation == "cross_entropy" else 0
        return picks(returned, self.framework.is_array, both=form.turns_both, counted=counted)

    def result(self, form: Form, probe: Probe) -> np.ndarray | None:
        """Return the result of a call in a form, None where it fails or returns no array."""
        try:
            returned = self._call(lambda *_: form.called(self.function, self._arguments(probe)))
            if OPERATIONS[form.operation].results and isinstance(returned, tuple | list):
                returned = returned[0]
            return self.framework.to_numpy(returned) if self.framework.is_array(returned) else None
        except (KeyboardInterrupt, BudgetSpent):
            raise
        except BaseException as error:
            self.failure = describe(error)
            return None

    def returned(self, form: Form, probe: Probe) -> Any:
        """Return all that the function returns in the first call that a layout makes, None where it fails."""
        arguments = self._arguments(probe)
        try:
            return first_answer(
                lambda inner: self._call(lambda *_: form.laid_out(inner, arguments)),
                lambda laid_out: form.returned(self.function, laid_out),
            )
        except (KeyboardInterrupt, BudgetSpent):
            raise
        except BaseException as error:
            self.failure = describe(error)
        return None

    def _call(self, function: Callable[..., Any]) -> Any:
        refuse_if_spent()
        self.calls += 1
        with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            return self.framework.call(function, (), {})

    def _arguments(self, probe: Probe) -> dict[str, Any]:
        kinds = {one.name: one.kind for one in OPERATIONS[probe.operation].parameters}
        return {name: self._given(value, kinds[name]) for name, value in probe.arguments.items()}

    def _given(self, value: Any, kind: str) -> Any:
        if kind == "weights":
            return convert_weights(value, self._array)
        return self._array(value) if isinstance(value, np.ndarray) else value

    def _array(self, value: np.ndarray) -> Any:
        return self.framework.from_numpy(value, self.dtype if value.dtype.kind == "f" else None)

    def fitting(self, forms: Iterable[Form], probe: Probe) -> tuple[Form | None, bool]:
        """Return the first form whose result is near the reference's, else the likest, and whether it is near."""
        best, likest = None, 0.0
        for form in forms:
            result = self.result(form, probe)
            if result is None or result.shape != probe.expected.shape:
                continue
            if is_near(result, probe.expected):
                return form, True
            likeness = self.likeness(form, probe, result)
            if likeness > likest + 1e-9:
                best, likest = form, likeness
        return best, False

    def likeness(self, form: Form, probe: Probe, result: np.ndarray) -> float:
        """Return how far the result depends on the same entries as the reference's, from 0 to 1.

        It tells layouts and masks apart where the values are wrong: a wrong factor changes no dependence.
        """
        shares: list[list[float]] = []
        for array in _floating(probe):
            shares += [self._shares(form, probe, result, array, number) for number in range(_CHANGED_ENTRIES)]
        if not shares:
            # An operation of numbers alone has nothing to depend on.
            return max(_agreement(result, one) for one in probe.results)
        found = float(np.mean(shares, axis=0).max())
        if isinstance(form.layout, ByPlace):
            # Each layout of a rotation depends on the same entries: the rows that stay tell which axis is the length.
            found += 0.01 * max(_agreement(result, one) for one in probe.results)
        return found

    def _shares(self, form: Form, probe: Probe, result: np.ndarray, array: np.ndarray, number: int) -> list[float]:
        """Return the shares under each convention of the reference."""
        numbers = np.random.default_rng(_SEED + number)
        changed = array.copy()
        changed[tuple(numbers.integers(0, length) for length in array.shape)] += 2.0
        # One array may be two arguments: an attention without a context of its own attends to what asks.
        other = probe.with_arguments(
            {name: _with(held, array, changed) for name, held in probe.arguments.items() if _holds(held, array)}
        )
        got = self.result(form, other)
        if got is None or got.shape != result.shape:
            return [0.0] * len(probe.results)
        theirs = _differ(got, result)
        ours = [_differ(*both) for both in zip(other.results, probe.results, strict=True)]
        return [_share(theirs, one) for one in ours]


def _floating(probe: Probe) -> list[np.ndarray]:
    """Return the arrays of numbers of a call, with the matrices among its weights, which tell how they are stored."""
    plain = [one for one in probe.arguments.values() if isinstance(one, np.ndarray)]
    weights = [vars(one) for one in probe.arguments.values() if isinstance(one, SimpleNamespace)]
    matrices = [one for each in weights for one in each.values() if isinstance(one, np.ndarray) and one.ndim > 1]
    return [one for one in (*plain, *matrices) if one.dtype.kind == "f"]


def _holds(held: Any, array: np.ndarray) -> bool:
    inside = vars(held).values() if isinstance(held, SimpleNamespace) else (held,)
    return any(one is array for one in inside)


def _with(held: Any, array: np.ndarray, other: np.ndarray) -> Any:
    if not isinstance(held, SimpleNamespace):
        return other
    return SimpleNamespace(**{name: other if one is array else one for name, one in vars(held).items()})


def _share(one: np.ndarray, other: np.ndarray) -> float:
    either = np.count_nonzero(one | other)
    return np.count_nonzero(one & other) / either if either else 1.0


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of entries that agree, which is never so small that the result counts as something else."""
    return max(float(np.mean(np.isclose(one, other, rtol=1e-3, atol=1e-4))), 0.1)


def _differ(one: np.ndarray, other: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        return ~(np.abs(one - other) <= 1e-6 * max(float(np.nanmax(np.abs(other), initial=0.0)), 1.0))
