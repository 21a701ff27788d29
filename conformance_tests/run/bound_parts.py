"""Which modules of a model can be bound: called alone, they give what the operation gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veriformer.adapters.errors import AdapterError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.whole_models.bound_part import BoundPart, WeightPlace
from veriformer.adapters.whole_models.wrapping import Wrapped
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape, standard_conventions
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.spec.operations import OPERATIONS

# Calling a module with x alone, or with x or None in place of what else it needs, samples first or positions first.
FORMS = 4
_WIDTH = 8
_SEED = 11


@dataclass(frozen=True)
class Bindable:
    """A part, and all ways in which it may be bound, of which the first that is right is taken."""

    part: BoundPart
    ways: tuple[BoundPart, ...]


def bindable(part: BoundPart) -> Bindable:
    """Return a part with the ways in which it may be bound.

    Attention that is causal in its model may be so by itself, or only by a mask that the model hands over.
    """
    if part.operation != "multi_head_attention":
        return Bindable(part, (part,))
    free = {name: value for name, value in part.fixed_values.items() if name != "is_causal"}
    patterns = [part.fixed_values, free] if "is_causal" in part.fixed_values else [free]
    return Bindable(
        part,
        tuple(replace(part, fixed_values=fixed, form=form) for fixed in patterns for form in range(FORMS)),
    )


def ways_of(ones: Sequence[Bindable]) -> list[BoundPart]:
    """Return the ways of all parts, one after the other."""
    return [way for one in ones for way in one.ways]


def bound(ones: Sequence[Bindable], made: Sequence[Wrapped]) -> Iterator[tuple[BoundPart, Implementation]]:
    """Yield the parts that are bound, each in the first way that is right; `made` is of all their ways, in order.

    Of several parts that turn out to be alike the first is bound.
    """
    rest, seen = iter(made), set()
    for one in ones:
        its = [next(rest) for _ in one.ways]
        found = _first_right(one.ways, its)
        if found is not None and (key := _alike(found[0])) not in seen:
            seen.add(key)
            yield found


def _first_right(ways: Sequence[BoundPart], made: Sequence[Wrapped]) -> tuple[BoundPart, Implementation] | None:
    for way, wrapped in zip(ways, made, strict=True):
        if wrapped.implementation is not None and _is_the_operation(wrapped.implementation, way):
            return way, wrapped.implementation
    return None


def _alike(part: BoundPart) -> tuple[Any, ...]:
    """Return what parts that are alike have in common."""
    own = tuple((name, _without(part.path, place)) for name, place in part.weights.items())
    fixed = tuple(sorted(part.fixed_values.items()))
    return part.kind, part.operation, part.form, fixed, tuple(part.conventions.items()), own


def _without(path: str, place: WeightPlace) -> tuple[Any, ...]:
    names = tuple(name.removeprefix(path) for name in place.parameters)
    return names, place.rows, place.step, place.columns


def _is_the_operation(implementation: Implementation, part: BoundPart) -> bool:
    """Return whether a call like that of the recorded pass gives what the operation gives, on other numbers.

    A model may have been made for one length, which is then no fault of its attention.
    """
    conventions = {**standard_conventions(), **part.conventions}
    subject = Subject(implementation, OPERATIONS[part.operation], conventions)
    case = _usual_case(part, implementation.dtypes[0])
    inputs: Inputs = draw_inputs(part.operation, case)
    output = _answer(subject, inputs)
    if output is None or (isinstance(case, AttentionCase) and not _takes_other_lengths(subject, case)):
        return False
    expected = inputs.expected(conventions)
    return compare(expected.value, output, expected.allowed, expected.judged).holds


def _answer(subject: Subject, inputs: Inputs) -> Array | None:
    try:
        return subject.call(inputs)
    except (AdapterError, WrongShape):
        return None


def _takes_other_lengths(subject: Subject, case: AttentionCase) -> bool:
    """Return whether any other length than that of the recorded pass is answered."""
    others = {max(length, 2) for length in (case.query_length - 1, case.query_length // 2)} - {case.query_length}
    cases = (replace(case, query_length=length, key_length=length) for length in sorted(others, reverse=True))
    return any(_answer(subject, draw_inputs(subject.operation.name, one)) is not None for one in cases)


def _usual_case(part: BoundPart, dtype: str) -> Case:
    """Return a case of the part's sizes, with as many samples and positions as in the recorded pass."""
    samples, positions = part.shape
    fixed: dict[str, Any] = dict(part.fixed_values)
    biases = "biases" not in part.limitations
    common: dict[str, Any] = {"dtype": dtype, "palette": "normal", "seed": _SEED}
    if part.operation == "multi_head_attention":
        heads, width = fixed["num_heads"], fixed["d_model"] // fixed["num_heads"]
        return AttentionCase(
            samples, heads, fixed["num_kv_heads"], positions, positions, width, width,
            is_causal="is_causal" in fixed, biases=biases, itself=True, **common,
        )  # fmt: skip
    if "d_ff" in fixed:
        biases = biases and part.operation == "feed_forward"
        sizes = (samples, positions, fixed["d_model"], fixed["d_ff"])
        return FeedForwardCase(*sizes, activation=fixed["activation"], biases=biases, **common)
    width = fixed.get("d_model", _WIDTH)
    return VectorCase(samples, positions, width, eps=fixed.get("eps", 1e-5), **common)
