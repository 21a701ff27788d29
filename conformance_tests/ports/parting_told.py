"""What is said of a place where two models part: the cause, the steps of both, and their values in words."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.findings import Cause, CauseKind
from veriformer.conformance_tests.ports.parting import Behind, Parting
from veriformer.conformance_tests.recognition.paths import common_path

SURE, LIKELY, PERHAPS = 1.0, 0.8, 0.5


@dataclass(frozen=True)
class Told:
    """A cause with the steps of both models that it is about, and the parameters where it is about these."""

    cause: Cause
    first: int | None
    second: int
    names_a: tuple[str, ...] = ()
    names_b: tuple[str, ...] = ()


def path_of(side: Behind, place: int) -> str:
    """Return the module of a step; where none was running, that of the parameters that were used last before it."""
    step = side.flow.steps[place]
    if step.module:
        return step.module
    for index in range(place, -1, -1):
        names = side.names(index)
        if names:
            return common_path(names).rpartition(".")[0] or common_path(names)
    return ""


def subject_of(side: Behind, one: Parting) -> str:
    """Return in words what a step is taken from."""
    moving = [value for value in one.second.common if not side.flow.is_fixed(value)] or list(one.second.common)
    return " and ".join(dict.fromkeys(described(side, value) for value in moving[:2]))


def said(
    one: Parting, kind: CauseKind, name: str, words: str, confidence: float, change: str, first: int | None = None
) -> Told:
    """Return a cause with what must change; it stands at the steps that part, or at another one of A."""
    cause = Cause(kind, name, words, confidence, change)
    return Told(cause, one.first if first is None else first, one.second.step)


def described(side: Behind, value: int) -> str:
    """Return a value in words: by the parameter that made it, or by what was computed."""
    flow = side.flow
    while (step := flow.making(value)) is not None and step.kind == Kind.REARRANGEMENT:
        floats = [one for one in step.operands if flow.array(one).dtype.kind == "f"]
        if not floats:
            break
        value = max(floats, key=lambda one: (flow.depends_on_input(one), flow.array(one).size))
    given = flow.trace.values[value]
    place = flow.maker(value)
    if place is None:
        return (
            given.name
            if given.origin == "parameter"
            else "the model's input"
            if given.origin == "input"
            else "a constant"
        )
    names = side.names(place)
    return f"what {names[0]} gives" if names else f"the result of {side.formula(place).words}"
