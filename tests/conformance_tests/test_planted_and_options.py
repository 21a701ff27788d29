"""A mistake is written twice, as a change of a program and as an option of a formula: the two do the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest
from veriformer.adapters.errors import AdapterError
from veriformer.adapters.loading import load
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import CallRecord, Subject, WrongShape
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.diagnosis.observation import arguments_of
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.conformance_tests.mistakes.files import read_source
from veriformer.conformance_tests.operations.cases import cases
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants.family import Change, NotDefined, Point
from veriformer.spec.operations import OPERATIONS

_DRAWN = 60
_TOLD = 3
# Half of the digits: what rounding changes is less, and what a mistake changes is more.
_ALIKE = {"float64": 2.0**-26, "float32": 2.0**-12}


def options(slug: str, operation: str) -> list[tuple[Change, ...]]:
    """Return the changes of the operation's family that stand for a mistake."""
    family = family_of(operation)
    if family is None:
        return []
    point = family.standard
    single = [(change,) for change in point.single_changes()]
    every = [*single, *point.repeated_changes()]
    return [
        changes for changes in every if all(point.changed(change).option(change[0]).slug == slug for change in changes)
    ]


# Programs in which the mistake gives other numbers than in the formula, and why.
DIFFERENT = {
    "attention.scale-scale_compounds_per_block-numpy": "rounding to float32 is enlarged by each block",
    "attention.causal.unequal_lengths-causal_top_left_vs_bottom_right-numpy": "a value of a convention",
    "rotary.value-rope_interleaved_vs_half-numpy": "a value of a convention",
    "encoder_layer.padding.none-mask_polarity_inverted-numpy": "rows without a key are averages, not zeros",
    "decoder_layer.memory.permutation-cross_attn_causal-numpy": "rows without a key are averages, not zeros",
    "encoder_layer.single_token-normaliser_with_one_more-numpy": "one is added where the maximum is not taken off",
}
WRITTEN_TWICE = [
    (mistake, operation)
    for mistake in planted()
    for operation in mistake.operations[:1]
    if mistake.framework == "numpy" and not mistake.errors and options(mistake.slug, operation)
    # A chain of calls has no one result.
    if mistake.name not in DIFFERENT and operation != "decode_step"
]


@cache
def conventions_of(source: str, operation: str, folder: Path) -> dict[str, str]:
    """Return the conventions that the program obeys without a mistake."""
    file = folder / f"{source}.py"
    file.write_text(read_source(source), encoding="utf-8")
    return dict(examine(load(str(file)), OPERATIONS[operation]).subject.conventions)


def called(mistake: PlantedMistake, subject: Subject) -> Iterator[CallRecord]:
    """Yield the calls that the laws about the mistake make."""
    name, random = subject.operation.name, Random(0)
    architectures = subject.implementation.architectures.get(name, ())
    limits = Limits(name, tuple(_ALIKE), subject.features, architectures=architectures)
    for law in mistake.laws:
        if laws()[law].statement.operation.name != name:
            continue
        choice = cases(laws()[law].space, limits)
        for _ in range(_DRAWN):
            case = choice.sample(random)
            subject.calls.clear()
            with suppress(AdapterError, WrongShape, NotOffered):
                laws()[law].judge(Trial(subject, case, draw_inputs(name, case)))
            yield from subject.calls


def wrong_answers(mistake: PlantedMistake, subject: Subject) -> Iterator[Wrong]:
    """Yield calls that the program answers, and not as it should; rows that nobody judges count where no other is."""
    for call in called(mistake, subject):
        if call.inputs is None or call.inputs.steps or call.shapes != call.inputs.result_shapes:
            continue
        inputs = call.inputs.as_drawn(call.result)
        expected = inputs.expected(subject.conventions)
        right = expected.value
        if subject.operation.random:
            # The formula says of what was drawn whether chance explains it.
            right = family_of(inputs.operation).under(subject.conventions).compute(arguments_of(inputs))
        for entries in (expected.judged, np.ones_like(expected.judged)):
            wrong = Wrong(inputs, call.result, entries)
            if not wrong.is_given_by(right):
                yield wrong
                break


@dataclass(frozen=True)
class Wrong:
    """A wrong answer, and which of its entries count."""

    inputs: Inputs
    answer: np.ndarray
    entries: np.ndarray

    def is_given_by(self, other: np.ndarray) -> bool:
        """Return whether another answer is the same but for rounding."""
        if other.shape != self.answer.shape:
            return False
        largest = np.abs(other[np.isfinite(other)]).max(initial=1.0)
        one, other = self.answer[self.entries], other[self.entries]
        return bool(np.allclose(one, other, rtol=0.0, atol=_ALIKE[self.inputs.dtype] * largest, equal_nan=True))

    def is_computed_by(self, point: Point) -> bool:
        """Return whether the formula gives it with its options, which may mean nothing for the inputs."""
        try:
            return self.is_given_by(point.compute(arguments_of(self.inputs)))
        except NotDefined:
            return False


@pytest.mark.parametrize(("mistake", "operation"), WRITTEN_TWICE, ids=lambda value: getattr(value, "name", "in"))
def test_an_option_answers_as_the_program_does(mistake: PlantedMistake, operation: str, tmp_path: Path) -> None:
    file = tmp_path / "mistaken.py"
    file.write_text(mistake.source_text(), encoding="utf-8")
    implementation = load(str(file))
    conventions = conventions_of(mistake.source, operation, tmp_path)
    subject = Subject(implementation, OPERATIONS[operation], conventions)
    told = list(islice(wrong_answers(mistake, subject), _TOLD))
    assert told
    standard = family_of(operation).under(conventions)
    points = [standard.changed(*changes) for changes in options(mistake.slug, operation)]
    assert any(all(wrong.is_computed_by(point) for wrong in told) for point in points)


def test_most_mistakes_are_compared_and_exceptions_are_of_mistakes() -> None:
    assert len(WRITTEN_TWICE) > 200
    assert set(DIFFERENT) <= {mistake.name for mistake in planted()}
