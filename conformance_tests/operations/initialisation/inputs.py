"""The inputs of initial weights: a configuration and a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from veriformer import reference
from veriformer.adapters.results import join
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.initialisation.arrays import NAMES, Arrays, reference_arrays, shapes_of
from veriformer.conformance_tests.operations.initialisation.cases import InitialCase
from veriformer.conformance_tests.operations.initialisation.explaining import explained


@dataclass(frozen=True, eq=False)
class InitialInputs(SeveralResults):
    """A configuration and the seed of the random numbers; `drawn` are the weights of a call, one after the other."""

    operation: ClassVar[str] = "initial_weights"
    dtype: str
    config: reference.TransformerConfiguration
    seed: int
    drawn: Array | None = None

    @classmethod
    def draw(cls, operation: str, case: InitialCase) -> Self:
        """Return the inputs that a case describes."""
        return cls(case.dtype, case.config, case.weights_seed)

    @property
    def parts(self) -> dict[str, Shape]:
        """The weights, each with its shape."""
        return {f"weights.{path}": shape for path, shape in shapes_of(self.config).items()}

    def arrays(self, joined: Array) -> Arrays:
        """Return the weights in a result of these inputs by their dotted names."""
        return {name.removeprefix("weights."): part(joined) for name, part in self.each_part().items()}

    def as_drawn(self, result: Array) -> Self:
        """Return the inputs with the weights of a call."""
        changed: dict[str, Any] = {"drawn": result}
        return replace(self, **changed)

    def expected(self, conventions: Conventions) -> Expected:
        """Return the weights that were drawn, where chance explains them, and others elsewhere, to the last bit.

        Which random numbers a correct implementation draws is not known before.
        """
        own = {name: conventions[name] for name in NAMES}
        if self.drawn is None:
            value = join(list(reference_arrays(self.config, self.seed, own).values()))
        else:
            found = explained(self.arrays(self.drawn), self.config, self.seed, own)
            value = join(list(found.values()))
        return Expected(value, np.zeros(value.shape), np.ones(value.shape, dtype=bool))
