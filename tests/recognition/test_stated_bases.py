"""A base of rotations that a configuration states under a short name or in a short attribute is a witness too."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def found(kind: Callable[[str], ModuleType]) -> Callable[..., Recognition]:
    """Return a function that reads a model which turns with a base, and whose configuration is called `holder`."""
    stated = kind("stated")

    def recognised(holder: str, base: float = 10000.0, **configuration: Any) -> Recognition:
        torch.manual_seed(0)
        model = stated.Configured(SimpleNamespace(note="none"), base)
        del model.config
        setattr(model, holder, SimpleNamespace(**configuration))
        return recognise(recorded_pass(find_model(model, "model"), seed=0).trace)

    return recognised


@pytest.mark.parametrize("holder", ("hp", "config"))
@pytest.mark.parametrize("name", ("theta", "rope_freq_base", "rope_theta"))
def test_a_base_that_is_not_turned_with_departs(found: Callable[..., Recognition], holder: str, name: str) -> None:
    departure, *_ = found(holder, **{name: 500000.0}).departures
    said = f"the configuration says that {holder}.{name} is 500000, and the model turns with the base 10000"
    assert (departure.step, departure.sentence) == ("rotary", said)
    assert [one.name for one in departure.suspects] == ["rope_theta_ignored"]
    recognition = found(holder, 500000.0, **{name: 500000.0})
    assert recognition.departures == ()
    assert recognition.agreed == (f"{holder}.{name} 500000",)


@pytest.mark.parametrize("other", ("vocab", "vocab_size", "max_len", "n_embd"))
def test_another_number_that_is_the_base_by_chance_is_no_excuse(found: Callable[..., Recognition], other: str) -> None:
    departure, *_ = found("hp", 100.0, theta=500000.0, **{other: 100}).departures
    assert departure.sentence.endswith("hp.theta is 500000, and the model turns with the base 100")


@pytest.mark.parametrize("other", ("rope_local_base_freq", "rotary_base_of_windows", "max_wavelength", "local_theta"))
def test_another_base_that_is_stated_may_be_meant(found: Callable[..., Recognition], other: str) -> None:
    assert found("hp", 100.0, theta=500000.0, **{other: 100}).departures == ()
