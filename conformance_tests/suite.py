"""What a package needs to add an operation of its own: the records, the cases, and what laws are written with.

An entry point of the group `veriformer.suites` names its `Extension`; see `docs/own_operation.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from veriformer.conformance_tests.core import law
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs, VectorInputs
from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import NoSpace, OwnSpace, Space
from veriformer.conformance_tests.drawing.values import filled, round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace, vector_cases
from veriformer.conformance_tests.mistakes.mistake import PlantedMistake
from veriformer.conformance_tests.operations.extension import Extension
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Family, Point
from veriformer.spec.laws import LawStatement, Property, state
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

__all__ = [
    "Array",
    "Conventions",
    "Decision",
    "Expected",
    "Extension",
    "Family",
    "Inputs",
    "LawStatement",
    "NoSpace",
    "NotOffered",
    "Operation",
    "OwnSpace",
    "Parameter",
    "PlantedMistake",
    "Point",
    "Precision",
    "Property",
    "SampledInputs",
    "Space",
    "Suite",
    "Trial",
    "VectorCase",
    "VectorInputs",
    "VectorSpace",
    "Verdict",
    "compare",
    "filled",
    "judges",
    "mistake",
    "round_to_dtype",
    "standard",
    "state",
    "vector_cases",
    "words",
]


def judges(*keys: str, space: Space, operation: str, batched: bool = True) -> Callable[[law.CheckT], law.CheckT]:
    """Register a check for the properties `keys` of an operation of your own.

    `space` says which cases it needs; a law that is not `batched` is tried on one case a call. ValueError for an
    operation of ours, and for a property that has a check already.
    """
    if operation in OPERATIONS.own:
        raise ValueError(f"{operation} is not an operation of your own; give one of another name")
    return law.judges(*keys, space=space, operations=(operation,), batched=batched)
