"""The questions by which conventions are found: the function of a convention's name asks about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from veriformer.conformance_tests.conventions.asking import Answer, Asking
from veriformer.conformance_tests.conventions.questions import (
    attention,
    initialisation,
    models,
    networks,
    positions,
    precision,
    training,
)
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.spec.conventions import CONVENTIONS

QUESTIONS: Mapping[str, Callable[[Asking], Answer]] = {
    name: getattr(module, name)
    for module in (attention, positions, networks, precision, training, initialisation)
    for name in CONVENTIONS
    if hasattr(module, name)
}

# What no call of a model shows, but a call that trains one.
_OF_TRAINED_MODELS: Mapping[str, Callable[[Asking], Answer]] = {"decayed_weights": training.decayed_weights}


def answer(convention: str, asking: Asking) -> Answer:
    """Ask an operation which value of a convention it follows."""
    of_model = isinstance(suite_of(asking.operation).ordinary, ModelCase)
    of_a_model = _OF_TRAINED_MODELS.get(convention, models.of_models)
    question = of_a_model if of_model else QUESTIONS.get(convention, lambda _: Answer(None))
    about = replace(asking, convention=convention, errors=[])
    return replace(question(about), errors=tuple(about.errors))
