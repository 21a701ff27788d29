"""Comparing what two names stand for: two whole models, or two implementations of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from veriformer.adapters.capture.isolated import MODEL_LIMITS
from veriformer.adapters.capture.models import load_model
from veriformer.adapters.capture.probable import is_probably_a_model
from veriformer.adapters.errors import LoadError, NoOperations, NotAModel
from veriformer.adapters.files import place_of
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison

Result = TypeVar("Result")


def compare(
    first: object, second: object, *, inputs: Any = None, isolate: bool = False, **options: Any
) -> Comparison | PortComparison:
    """Compare two whole models, or two implementations of operations, and return where the second differs.

    `first` and `second` are both models, or what names them ("model.py:build", "model.onnx"), or both implementations.
    `inputs` are what the models are run on: an array, a tuple of arrays, or a dictionary of them by argument; without
    them the first model's own are taken, or some that are guessed for it. `isolate` runs each named model in a process
    of its own. Further `options` are those of `compare_implementations`, and about operations only.

    Raises LoadError, of which NotAModel is one, where one of the two cannot be loaded, or where only one is a model;
    CaptureError where a model cannot be recorded; ValueError for options that models do not have, and for inputs of
    implementations.
    """
    first, second = place_of(first), place_of(second)
    limits = (MODEL_LIMITS if isolate and isinstance(one, str) else None for one in (first, second))
    both = tuple(limits)

    def as_models() -> Comparison | PortComparison:
        if options:
            raise ValueError(f"{', '.join(options)}: this is about operations, and models have none; leave it out")
        return compare_models(first, second, inputs, isolation=(both[0], both[1]))

    def as_implementations() -> Comparison | PortComparison:
        if inputs is not None:
            raise ValueError("inputs are for models; cases of operations are drawn")
        return compare_implementations(first, second, **options)

    return chosen(first, second, as_models, as_implementations)


def chosen(
    first: object, second: object, as_models: Callable[[], Result], as_implementations: Callable[[], Result]
) -> Result:
    """Return the comparison of two models, or of two implementations, whichever they are."""
    if not any(map(_may_be_model, (first, second))):
        return as_implementations()
    try:
        return as_models()
    except NotAModel as no_model:
        if all(isinstance(one, str) and is_probably_a_model(one) for one in (first, second)):
            return as_implementations()
        try:
            return as_implementations()
        except NoOperations:
            mixed = f"{no_model}; a model is compared with a model, and an implementation with one"
            raise LoadError(mixed) from no_model


def _may_be_model(target: object) -> bool:
    if isinstance(target, str):
        return is_probably_a_model(target)
    if isinstance(target, Implementation):
        return False
    try:
        load_model(target)
    except LoadError:
        return False
    return True
