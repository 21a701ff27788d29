"""The laws of what a model is wrapped as: of the model as a whole, and of its parts."""

from __future__ import annotations

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.whole_models.session import Session
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.adapters.whole_models.wrapping import Wrapped, Wrapping
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run
from veriformer.spec.laws import LAWS

# What is called stands between the laws and the model, and keeps these by itself.
_KEPT_BY_THE_WRAPPING = ("signature", "dtype", "memory_layout")


def wrappings_of(recognition: Recognition) -> tuple[Wrapping, ...]:
    """Return what a model is to be wrapped as, by what it was recognised as."""
    return (WholeModel(causal=recognition.causal),)


def judged(session: Session, recognition: Recognition, name: str, seed: int) -> tuple[Judged, ...]:
    """Return the laws of what a recorded model is wrapped as; LoadError where it cannot be called again."""
    made = session.wrapped(wrappings_of(recognition))
    return tuple(_judged(one, name, seed) for one in made)


def _judged(made: Wrapped, name: str, seed: int) -> Judged:
    if made.implementation is None:
        return Judged(made.path, Report(name, "", seed, "quick", ()), made.reason)
    return Judged(made.path, laws_tried(made.implementation, seed))


def laws_tried(implementation: Implementation, seed: int) -> Report:
    """Return the report on an implementation that was made of a model."""
    names = tuple(implementation.operations)
    laws = tuple(law.id for law in LAWS.values() if law.operation.name in names and _is_of_the_model(law.claim.key))
    run = Run(implementation, RunOptions(Selection(names, laws, effort="quick", seed=seed)))
    return run.diagnosed(run.report())


def _is_of_the_model(key: str) -> bool:
    return key not in _KEPT_BY_THE_WRAPPING
