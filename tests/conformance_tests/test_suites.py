"""The suites: one for each operation, found in the folder of its topic, and complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests.core.inputs import VectorInputs
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations import suites as lookup
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.suites import family_of, modules_of, suite_of, suites
from veriformer.spec.operations import OPERATIONS

TOPICS = Path(lookup.__file__).parent
ARCHITECTURES = {"encoder": "bert", "encoder_decoder": "vaswani", "language_model": "gpt", "decode_step": "llama"}
ARCHITECTURES |= dict.fromkeys(("training_steps", "initial_weights"), "gpt")
ARCHITECTURES |= {f"{name}_backward": kind for name, kind in ARCHITECTURES.items()}


def test_every_operation_has_one_suite_in_the_order_of_the_operations() -> None:
    assert list(suites()) == list(OPERATIONS)
    assert all(suite.operation == name for name, suite in suites().items())


@pytest.mark.parametrize("name", [name for name, suite in suites().items() if suite.ordinary])
def test_an_ordinary_case_is_of_the_kind_that_is_drawn(name: str) -> None:
    suite = suite_of(name)
    limits = Limits(name, ("float32",), frozenset(), architectures=(ARCHITECTURES.get(name, ""),))
    drawn = cases(own_space(name, extras=False), limits).sample(Random(0))
    assert type(suite.ordinary) is type(drawn)
    assert type(draw_inputs(name, drawn)) is suite.inputs


@pytest.mark.parametrize("name", [name for name, suite in suites().items() if issubclass(suite.inputs, VectorInputs)])
def test_other_vectors_are_rounded_to_the_dtype(name: str) -> None:
    limits = Limits(name, ("bfloat16",), frozenset())
    inputs = draw_inputs(name, cases(own_space(name, extras=False), limits).sample(Random(0)))
    thirds = np.full(inputs.x.shape, 1.0 / 3.0)
    np.testing.assert_array_equal(inputs.with_x(thirds).x, round_to_dtype(thirds, "bfloat16"))


def test_a_memory_needs_the_weights_of_a_decoder_layer() -> None:
    encoder, decoder = (draw_inputs(name, suite_of(name).ordinary) for name in ("encoder_layer", "decoder_layer"))
    inputs = replace(decoder, weights=encoder.weights)
    with pytest.raises(TypeError, match="the weights are those of an encoder layer"):
        inputs.expected(standard_conventions())


def test_every_operation_but_a_black_box_has_a_family() -> None:
    assert {name for name in OPERATIONS if family_of(name) is None} == {"model"}


def test_a_topic_is_found_by_being_there() -> None:
    found = {module.__name__.split(".")[-2] for module in modules_of("suite")}
    assert len(found) > 15
    assert found == {path.parent.name for path in TOPICS.glob("*/suite.py")}


@pytest.mark.parametrize("name", ["softmax", "no_operation"])
def test_two_suites_of_one_operation_or_of_none_are_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    another = SimpleNamespace(SUITES=(SimpleNamespace(operation=name),))
    modules = [*modules_of("suite"), another]
    monkeypatch.setattr(lookup, "modules_of", lambda _: modules)
    with pytest.raises(ValueError, match="suites of"):
        suites.__wrapped__()
