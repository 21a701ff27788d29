"""Laws of models that take vectors, or more of each sample than a sequence: own arguments, gradients, pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.files import load_file
from veriformer.adapters.whole_models.session import opened
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.adapters.whole_models.wrapping import Wrapped
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.run.model_laws import laws_tried
from veriformer.spec.laws import LAWS

torch = pytest.importorskip("torch")

models = load_file(str(Path(__file__).with_name("strangers") / "conditioned.py"))[0]
OWN, GRADIENTS = "batch.arguments", "gradients.value"
KEYS = {law.claim.key for law in LAWS.values() if law.id.startswith("model.")}


def wrapped(model: Any, inputs: tuple[Any, ...], judged: Callable[[Wrapped], Any]) -> Any:
    with opened(find_model(model, "model"), inputs, seed=0) as session:
        (made,) = session.wrapped([WholeModel(causal=False)])
        return judged(made)


def results(model: Any, inputs: tuple[Any, ...], *only: str) -> Mapping[str, LawResult]:
    """Return the results of laws, of all where none is asked for."""

    def judged(made: Wrapped) -> Mapping[str, LawResult]:
        assert made.implementation is not None, made.reason
        but = tuple(KEYS - {*only}) if only else ()
        return {one.law.claim.key: one for one in laws_tried(made.implementation, 0, but=but).results}

    return wrapped(model, inputs, judged)


def of_status(found: Mapping[str, LawResult], status: str) -> set[str]:
    return {key for key, one in found.items() if one.status == status}


def test_a_right_model_answers_each_sample_by_its_own_arguments() -> None:
    found = results(models.Conditioned(), models.given())
    assert of_status(found, "failed") == of_status(found, "error") == set()
    assert of_status(found, "passed") >= {OWN, "batch.independence", "batch.permutation", GRADIENTS}


@pytest.mark.parametrize("name", ("StepOfTheFirst", "StepsReversed"))
def test_a_model_that_mixes_the_arguments_of_samples_breaks_this_law_alone(name: str) -> None:
    found = results(getattr(models, name)(), models.given())
    assert of_status(found, "failed") == {OWN}
    assert of_status(found, "error") == set()


@pytest.mark.parametrize(
    "inputs",
    (
        pytest.param(models.given(steps=(7, 7, 7)), id="no argument differs between samples"),
        pytest.param(models.given(length=3), id="there are as many samples as positions"),
        pytest.param(models.given(steps=(7,)), id="there is one sample"),
    ),
)
def test_the_law_is_not_declared_where(inputs: tuple[Any, ...]) -> None:
    found = results(models.StepOfTheFirst(), inputs, OWN)
    assert {key: one.status for key, one in found.items()} == {OWN: "not_declared"}


@pytest.mark.parametrize(("name", "status"), (("in_jax", "passed"), ("step_of_the_first_in_jax", "failed")))
def test_arguments_of_samples_in_jax(name: str, status: str) -> None:
    pytest.importorskip("jax")
    pair = (getattr(models, name), models.parameters_of_jax())
    found = results(pair, tuple(one.numpy() for one in models.given()), OWN)
    assert {key: one.status for key, one in found.items()} == {OWN: status}


def vectors() -> Any:
    return (3.0 * torch.randn(3, 5, models.WIDTH, generator=torch.Generator().manual_seed(1)),)


def assert_the_gradient_of_the_input_is_wrong(found: Mapping[str, LawResult]) -> None:
    counterexample = found[GRADIENTS].counterexample
    assert counterexample is not None
    assert counterexample.verdict.note == ("derivatives by the input are wrong, though the result depends on them")


def test_the_right_gradient_of_an_own_norm_holds() -> None:
    assert results(models.OwnNorm(), vectors(), GRADIENTS)[GRADIENTS].status == "passed"


def test_a_gradient_of_the_input_that_lacks_a_factor_breaks_the_law() -> None:
    found = results(models.OwnNorm(models.WithoutInverse), vectors())
    assert of_status(found, "failed") == {GRADIENTS}
    assert_the_gradient_of_the_input_is_wrong(found)


@pytest.mark.parametrize("is_right", (True, False))
def test_gradients_of_the_input_in_jax(is_right: bool) -> None:
    pytest.importorskip("jax")
    pair = (models.own_norm_in_jax(is_right=is_right), {"map": models.parameters_of_jax()["map"]})
    found = results(pair, (vectors()[0].numpy(),), GRADIENTS)
    assert found[GRADIENTS].status == ("passed" if is_right else "failed")
    if not is_right:
        assert_the_gradient_of_the_input_is_wrong(found)


def test_a_model_that_detaches_its_input_is_not_accused() -> None:
    found = results(models.Detaching(), vectors())
    assert of_status(found, "failed") == of_status(found, "error") == set()
    assert found[GRADIENTS].status == "passed"


def test_no_law_is_tried_on_a_model_that_returns_pairs_of_samples() -> None:
    inputs = (torch.randn(3, 3, 8, 8), torch.from_numpy(np.random.default_rng(0).integers(0, models.STEPS, (3, 7))))
    made = wrapped(models.Contrasting(), inputs, lambda made: made)
    assert made.implementation is None
    assert made.reason == "its result is of pairs of samples, so that no sample has one of its own"
