"""The broken laws that a formula does not explain: an implementation of just that formula obeys them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.diagnosis.interface_laws import is_interface_law
from veriformer.conformance_tests.diagnosis.observation import arguments_of, result_at
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.search.search import Search
from veriformer.conformance_tests.variants import Point


class NotComputed(AdapterError):
    """A point of a family is not defined for these inputs."""


@dataclass
class FormulaAsSubject(Subject):
    """An operation that returns what a point of its family computes, so that laws can be tried on it."""

    point: Point | None = None

    def call(self, inputs: Inputs, *, strided: bool = False) -> Array:
        """Return what the point computes, whatever the layout in memory; NotComputed where it is not defined, and
        WrongShape where it returns another shape than a correct program.
        """
        result = None if self.point is None else result_at(self.point, arguments_of(inputs))
        if result is None:
            raise NotComputed(f"the formula is not defined for these inputs of {inputs.operation}")
        if len(inputs.result_shapes) == 1 and result.shape != inputs.result_shapes[0]:
            raise WrongShape(inputs.operation, inputs.result_shapes, (result.shape,))
        return result


def unexplained_laws(subject: Subject, point: Point, broken: Sequence[LawResult], limits: Limits) -> list[LawResult]:
    """Return the broken laws that hold, on the cases that broke them, for what a point of the family computes.

    No formula explains a broken interface law.
    """
    formula = FormulaAsSubject(subject.implementation, subject.operation, subject.conventions, point=point)
    return list(_obeyed(formula, broken, limits))


def _obeyed(formula: Subject, broken: Sequence[LawResult], limits: Limits) -> Iterator[LawResult]:
    for result in broken:
        if is_interface_law(result.law.id):
            yield result
        elif result.counterexample is not None:
            search = Search(laws()[result.law.id], formula, limits, limits.seed, 1)
            with np.errstate(all="ignore"):
                if search.judge(result.counterexample.case).kind == "holds":
                    yield result
