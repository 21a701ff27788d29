"""The inputs of clipping by the norm of all gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.when_needed import bounded_parts
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.clipping.bounds import clipping_bounds
from veriformer.conformance_tests.operations.clipping.cases import SHARE, ClipCase
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.reference.clipping import NORM_EPS


@dataclass(frozen=True, eq=False)
class ClipInputs(SeveralResults):
    """The gradients of all parameters, and the largest norm that they may have together."""

    operation: ClassVar[str] = "clip_by_global_norm"
    dtype: str
    gradients: tuple[Array, ...]
    max_norm: float

    @classmethod
    def draw(cls, operation: str, case: ClipCase) -> ClipInputs:
        """Return the inputs that a case describes; the bound is a share of the norm, in few digits."""
        generator = np.random.default_rng(case.seed)
        arrays = []
        for place, shape in enumerate(case.shapes):
            # Of an array with one axis no row could repeat another.
            values = fill(generator, shape if len(shape) > 1 else (1, *shape), case.palette).reshape(shape)
            arrays.append(round_to_dtype(np.ldexp(values, case.exponent - place * case.spread), case.dtype))
        if case.bound == "zero":
            arrays = [np.zeros(array.shape) for array in arrays]
        elif not any(array.any() for array in arrays):
            arrays[0].flat[0] = math.ldexp(1.0, case.exponent)
        drawn = cls(case.dtype, tuple(arrays), 1.0)
        return replace(drawn, max_norm=float(f"{(drawn.norm or 1.0) * SHARE[case.bound]:.3g}"))

    @classmethod
    def given(cls, dtype: str, arguments: Mapping[str, Any]) -> ClipInputs:
        """Return the inputs that hold the arguments of a call."""
        return cls(dtype, tuple(arguments["gradients"]), arguments["max_norm"])

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, by the interface's names."""
        return {"gradients": list(self.gradients), "max_norm": self.max_norm}

    @property
    def norm(self) -> float:
        """‖g‖, of all arrays together."""
        return math.sqrt(sum(float(np.sum(array * array)) for array in self.gradients))

    @property
    def joined_gradients(self) -> Array:
        """The entries of all gradients, one after the other, as results are judged."""
        return np.concatenate([array.ravel() for array in self.gradients])

    @property
    def parts(self) -> dict[str, Shape]:
        """The name and shape of each array of a correct result, in order."""
        return {f"clipped.{place}": array.shape for place, array in enumerate(self.gradients)}

    def with_gradients(self, gradients: Sequence[Array]) -> ClipInputs:
        """Return inputs with other gradients, which the dtype can hold."""
        return replace(self, gradients=tuple(gradients))

    def scaled(self, factor: float) -> ClipInputs:
        """Return inputs with gradients of another scale, by a factor with which the dtype multiplies exactly."""
        return self.with_gradients([factor * array for array in self.gradients])

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact clipped gradients and their error bounds, one after the other."""
        name = conventions["clip_norm_eps"]
        exact = reference.clip_by_global_norm(self.gradients, max_norm=self.max_norm, norm_eps=name)
        precision = Precision.of(self.dtype)

        def bounds() -> list[Array]:
            return clipping_bounds(self.gradients, exact, self.max_norm, NORM_EPS[name], precision)

        return bounded_parts(exact, bounds, precision, self.dtype)
