"""Bounds of training's small formulas, against a program each of whose steps is wrong by a roundoff, all in one way.

Each such step is what the standard model of rounding allows, so that no bound may be exceeded; and what the whole is
wrong by is more than half of a bound, so that half of it would accuse the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.operations.adamw.cases import StepCase
from veriformer.conformance_tests.operations.adamw.inputs import StepInputs
from veriformer.conformance_tests.operations.clipping.cases import ClipCase
from veriformer.conformance_tests.operations.clipping.inputs import ClipInputs
from veriformer.conformance_tests.operations.dropout.cases import DropoutCase
from veriformer.conformance_tests.operations.dropout.inputs import DropoutInputs
from veriformer.conformance_tests.operations.schedules.cases import CosineCase, RootCase
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs, RootInputs
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

Array = np.ndarray
# Of inputs and of how roundings go.
Program = Callable[[Any, "Wrong"], Array]


@dataclass(frozen=True)
class Wrong:
    """Numbers that are too large by roundoffs, or too small where `sign` is −1."""

    unit: float
    sign: int

    def up(self, value: Array | float, roundings: float = 1.0) -> Array:
        """Return a number after so many roundings away from zero, or towards it."""
        return np.asarray(value * (1.0 + self.sign * self.unit) ** roundings)

    def down(self, value: Array | float, roundings: float = 1.0) -> Array:
        """Return a number after so many roundings the other way, which are quotients where the others are factors."""
        return np.asarray(value / (1.0 + self.sign * self.unit) ** roundings)


def clipped(inputs: ClipInputs, wrong: Wrong) -> Array:
    """G (M/‖g‖): squares divided by the largest, added up one after the other, and multiplied by it again."""
    largest = max(float(np.abs(array).max()) for array in inputs.gradients)
    total = np.zeros(())
    for value in np.concatenate([array.ravel() for array in inputs.gradients]):
        total = wrong.down(total + wrong.down(wrong.down(value / largest) ** 2))
    norm = wrong.down(wrong.down(total**0.5) * largest)
    factor = wrong.up(wrong.up(inputs.max_norm) / norm)
    return np.concatenate([wrong.up(wrong.up(array * factor)).ravel() for array in inputs.gradients])


def by_cosine(inputs: CosineInputs, wrong: Wrong) -> Array:
    """(P − l) (1 + cos πx)/2 + l, x and π too large, so that the cosine falls."""
    progress = wrong.down((inputs.step - inputs.warmup_steps) / (inputs.total_steps - inputs.warmup_steps), 2.0)
    angle = wrong.down(wrong.down(math.pi) * progress)
    cosine = np.cos(angle) + wrong.sign * 2.0 * wrong.unit
    height = wrong.up(wrong.up(inputs.peak) - wrong.down(inputs.least))
    return wrong.up(wrong.up(wrong.up(height * wrong.up(1.0 + cosine)) * 0.5) + wrong.up(inputs.least))


def in_warmup(inputs: CosineInputs, wrong: Wrong) -> Array:
    """P − P (1 − t/W)."""
    rest = wrong.down(1.0 - wrong.up(inputs.step / inputs.warmup_steps))
    return wrong.up(wrong.up(inputs.peak) - wrong.down(wrong.down(inputs.peak) * rest))


def by_root(inputs: RootInputs, wrong: Wrong) -> Array:
    """Each power the exponential of an exponent times a logarithm, both of which err by two roundoffs."""

    def power(base: float, exponent: float) -> Array:
        product = wrong.down(exponent * wrong.down(wrong.down(math.log(base), 2.0), 2.0), 2.0)
        return wrong.up(np.exp(product), 2.0)

    smaller = min(inputs.step**-0.5, inputs.step * inputs.warmup_steps**-1.5)
    if smaller == inputs.step**-0.5:
        return wrong.up(power(inputs.d_model, -0.5) * power(inputs.step, -0.5), 2.0)
    return wrong.up(power(inputs.d_model, -0.5) * wrong.up(inputs.step * power(inputs.warmup_steps, -1.5)), 2.0)


def kept(inputs: DropoutInputs, wrong: Wrong) -> Array:
    """X (1 / (1 − p)), all entries kept."""
    return wrong.up(inputs.x * wrong.up(1.0 / wrong.down(1.0 - wrong.up(inputs.rate))))


def settings_of(wrong: Wrong) -> Wrong:
    """Return the roundings of settings, which no implementation keeps in less than float32."""
    return Wrong(min(wrong.unit, UNIT_ROUNDOFF["float32"]), wrong.sign)


def moments(inputs: StepInputs, wrong: Wrong) -> tuple[Array, Array]:
    """β m + (1 − β) g, and of the squares, where all terms have one sign."""

    def averaged(beta: float, old: Array, new: Array) -> Array:
        kept, own = wrong.up(beta), wrong.up(1.0 - settings_of(wrong).down(beta))
        return wrong.up(wrong.up(kept * old) + wrong.up(own * new))

    first = averaged(inputs.beta1, inputs.first_moment, inputs.gradient)
    return first, averaged(inputs.beta2, inputs.second_moment, wrong.up(inputs.gradient**2))


def corrected(beta: float, step: int, wrong: Wrong) -> Array:
    """1 − βᵗ, too small where the rounded β and each of its products are too large."""
    power = settings_of(wrong).up(beta**step, 2.0 * step - 1.0)
    return wrong.down(1.0 - power)


def parameter(inputs: StepInputs, wrong: Wrong) -> Array:
    """Of parameters below zero, which the update carries farther from it."""
    opposite = Wrong(wrong.unit, -wrong.sign)
    mean, square = moments(inputs, wrong)[0], moments(inputs, opposite)[1]
    first = corrected(inputs.beta1, inputs.step, wrong)
    second = corrected(inputs.beta2, inputs.step, opposite)
    divisor = wrong.down(wrong.down(wrong.down(square**0.5) / wrong.up(second**0.5)) + wrong.down(inputs.eps))
    update = wrong.up(wrong.up(mean / first) / divisor)
    decay = wrong.down(wrong.down(inputs.learning_rate) * inputs.weight_decay)
    old = wrong.up(inputs.parameter * wrong.up(1.0 - decay))
    return wrong.up(old - wrong.up(wrong.up(inputs.learning_rate) * update))


def stepped(inputs: StepInputs, wrong: Wrong) -> Array:
    """Parameter and moments, one after the other."""
    return np.concatenate([part.ravel() for part in (parameter(inputs, wrong), *moments(inputs, wrong))])


def of_one_sign(inputs: StepInputs) -> StepInputs:
    """Return inputs in which no rounding is undone by another's sign."""
    given = {"gradient": np.abs(inputs.gradient), "first_moment": np.abs(inputs.first_moment)}
    return inputs.with_arrays(parameter=-np.abs(inputs.parameter), **given)


def reached(inputs: Inputs, program: Program, wrong: Wrong) -> Array:
    """Return the errors of a program as multiples of what is allowed."""
    expected = inputs.expected(standard_conventions())
    error = np.abs(np.ravel(program(inputs, wrong)) - np.ravel(expected.value))
    return np.asarray(error / np.maximum(np.ravel(expected.allowed), 1e-300))


def clippings(dtype: str) -> Iterator[ClipInputs]:
    for arrays, rows, width in ((1, 1, 1), (1, 2, 3), (2, 4, 8), (1, 1, 60)):
        case = ClipCase(arrays, rows, width, dtype, "normal", bound="beyond", seed=3)
        yield ClipInputs.draw("clip_by_global_norm", case)


def dropouts(dtype: str) -> Iterator[DropoutInputs]:
    for rate in (0.1, 0.5, 0.9):
        drawn = DropoutInputs.draw("dropout", DropoutCase(2, 3, 5, dtype, "normal", rate=rate))
        yield replace(drawn, drawn=np.ones(drawn.x.shape, dtype=bool))


def steps(dtype: str) -> Iterator[StepInputs]:
    for step in (1, 3, 50):
        yield of_one_sign(StepInputs.draw("adamw_step", StepCase(2, 3, 5, dtype, "normal", step=step)))


def of_cosine(dtype: str) -> Iterator[CosineInputs]:
    for step in (5, 10, 50, 90):
        yield CosineInputs.draw("warmup_cosine_learning_rate", CosineCase(step, 4, 100))


def of_warmup(dtype: str) -> Iterator[CosineInputs]:
    for step in (1, 2, 3):
        yield CosineInputs.draw("warmup_cosine_learning_rate", CosineCase(step, 4, 100))


def of_root(dtype: str) -> Iterator[RootInputs]:
    for step, width, warmup in ((1, 512, 4000), (4000, 512, 4000), (1, 2, 2), (1000, 8, 10)):
        yield RootInputs.draw("warmup_inverse_root_learning_rate", RootCase(step, width, warmup))


# Whose inputs, the program, the dtypes, and the share of the bound that it comes beyond. A schedule is in float32. A
# bound covers several orders of operations, of which a program has one.
FORMULAS: dict[str, tuple[Callable[[str], Iterator[Any]], Program, float]] = {
    "clipping": (clippings, clipped, 0.5),
    "dropout": (dropouts, kept, 0.9),
    "AdamW": (steps, stepped, 0.5),
    "cosine": (of_cosine, by_cosine, 0.5),
    "warm-up": (of_warmup, in_warmup, 0.4),
    "inverse root": (of_root, by_root, 0.9),
}
CASES = [
    (name, dtype)
    for name in FORMULAS
    for dtype in (("float32", "bfloat16") if name in ("clipping", "dropout", "AdamW") else ("float32",))
]


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_worst_roundings_are_within_the_bound_and_not_far_within(name: str, dtype: str, sign: int) -> None:
    draw, program, least = FORMULAS[name]
    shares = [reached(inputs, program, Wrong(UNIT_ROUNDOFF[dtype], sign)) for inputs in draw(dtype)]
    assert max(share.max() for share in shares) <= 1.0 + 1e-6
    assert max(share.max() for share in shares) > least


@pytest.mark.parametrize("part", [0, 1, 2], ids=["parameter", "first moment", "second moment"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_no_result_of_adamw_has_a_bound_that_is_far_too_wide(dtype: str, part: int) -> None:
    shares = [np.split(reached(one, stepped, Wrong(UNIT_ROUNDOFF[dtype], 1)), 3)[part] for one in steps(dtype)]
    assert max(share.max() for share in shares) > 0.7
