"""The inputs of schedules of the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, Shape
from veriformer.conformance_tests.operations.schedules.bounds import cosine_bound, root_bound
from veriformer.conformance_tests.operations.schedules.cases import CosineCase, RootCase


@dataclass(frozen=True)
class ScheduleInputs(Inputs):
    """A step of a schedule, whose rate is one number."""

    @property
    def result_shape(self) -> Shape:
        return ()


@dataclass(frozen=True)
class CosineInputs(ScheduleInputs):
    """A step, the peak and the least rate, and where the warm-up and the cosine end."""

    operation: ClassVar[str] = "warmup_cosine_learning_rate"
    step: int
    peak: float
    least: float
    warmup_steps: int
    total_steps: int
    dtype: str

    @classmethod
    def draw(cls, operation: str, case: CosineCase) -> CosineInputs:
        """Return the inputs that a case describes."""
        return cls(case.step, case.peak, case.least, case.warmup_steps, case.total_steps, case.dtype)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact rate and its error bound."""
        rate = reference.warmup_cosine_learning_rate(
            self.step,
            peak=self.peak,
            least=self.least,
            warmup_steps=self.warmup_steps,
            total_steps=self.total_steps,
            warmup_start=conventions["warmup_start"],
        )
        progress = (self.step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return Expected(np.array(rate), np.array(cosine_bound(progress, self.peak)), np.array(True))


@dataclass(frozen=True)
class RootInputs(ScheduleInputs):
    """A step, the width of the model, and the number of steps of the warm-up."""

    operation: ClassVar[str] = "warmup_inverse_root_learning_rate"
    step: int
    d_model: int
    warmup_steps: int
    dtype: str

    @classmethod
    def draw(cls, operation: str, case: RootCase) -> RootInputs:
        """Return the inputs that a case describes."""
        return cls(case.step, case.d_model, case.warmup_steps, case.dtype)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact rate and its error bound."""
        rate = reference.warmup_inverse_root_learning_rate(
            self.step, d_model=self.d_model, warmup_steps=self.warmup_steps
        )
        bound = root_bound(self.step, self.d_model, self.warmup_steps, rate)
        return Expected(np.array(rate), np.array(bound), np.array(True))
