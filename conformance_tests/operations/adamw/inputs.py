"""The inputs of a step of AdamW."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import SampledInputs
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import filled, round_to_dtype
from veriformer.conformance_tests.operations.adamw.bounds import Settings, step_bounds
from veriformer.conformance_tests.operations.adamw.cases import StepCase
from veriformer.conformance_tests.rounding.precision import Precision

ARRAYS = ("parameter", "gradient", "first_moment", "second_moment")


@dataclass(frozen=True, eq=False)
class StepInputs(SeveralResults, SampledInputs):
    """A parameter, its gradient and its moments, all of one shape, and the settings of the step."""

    operation: ClassVar[str] = "adamw_step"
    dtype: str
    parameter: Array
    gradient: Array
    first_moment: Array
    second_moment: Array
    step: int
    learning_rate: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float

    @classmethod
    def draw(cls, operation: str, case: StepCase) -> StepInputs:
        """Return the inputs that a case describes.

        The moments are as t − 1 gradients leave them: small at first, and 0 before the first step. A mean of squares is
        no smaller than the square of the mean.
        """
        generator = np.random.default_rng(case.seed)
        shape = (case.batch, case.rows, case.width)
        parameter, gradient, mean, spread = (filled(generator, case, shape) for _ in range(4))
        first = (1.0 - case.beta1 ** (case.step - 1)) * mean
        second = (1.0 - case.beta2 ** (case.step - 1)) * (mean**2 + spread**2)
        settings = (case.step, case.learning_rate, case.beta1, case.beta2, case.eps, case.weight_decay)
        first, second = round_to_dtype(first, case.dtype), round_to_dtype(second, case.dtype)
        return cls(case.dtype, parameter, gradient, first, second, *settings)

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The name and shape of each array of a correct result, in order."""
        return dict.fromkeys(("parameter", "first_moment", "second_moment"), self.parameter.shape)

    def take_samples(self, index: Array) -> Self:
        return self.with_arrays(**{name: getattr(self, name)[index] for name in ARRAYS})

    def with_arrays(self, **arrays: Array) -> Self:
        """Return inputs with other arrays, which the dtype can hold."""
        changed: dict[str, Any] = arrays
        return replace(self, **changed)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that are no arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in (*ARRAYS, "dtype")}

    def kept(self, conventions: Conventions) -> float:
        """Return the share of the parameter that the decay leaves."""
        rate = self.learning_rate if conventions["adamw_decay"] == "times_learning_rate" else 1.0
        return 1.0 - rate * self.weight_decay

    def corrected_eps(self, conventions: Conventions) -> float:
        """Return what is added to the corrected root of the second moment."""
        correction = 1.0 - self.beta2**self.step
        return self.eps if conventions["adamw_eps"] == "after_correction" else self.eps / correction**0.5

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact parameter and moments and their error bounds, one after the other."""
        arrays = [getattr(self, name) for name in ARRAYS]
        exact = reference.adamw_step(
            *arrays,
            **self.settings,
            eps_placement=conventions["adamw_eps"],
            decay=conventions["adamw_decay"],
        )
        settings = Settings(
            self.step, self.learning_rate, self.beta1, self.beta2, self.corrected_eps(conventions),
            1.0 - self.kept(conventions),
        )  # fmt: skip
        precision = Precision.of(self.dtype)

        def bounds() -> tuple[Array, ...]:
            moments = arrays[2], arrays[3]
            return step_bounds(self.parameter, self.gradient, moments, exact, settings, precision)

        return bounded_parts(exact, bounds, precision, self.dtype)
