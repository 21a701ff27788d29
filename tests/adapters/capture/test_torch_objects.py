"""Models of PyTorch that are objects of own classes: their tensors are found where they stand, and may be others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.errors import NotAModel
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")
WIDTH, HIDDEN, VOCABULARY = 24, 40, 30


def checkpoint() -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(0)
    sizes = {"table": (VOCABULARY, WIDTH), "layers.0.up": (HIDDEN, WIDTH), "layers.0.down": (WIDTH, HIDDEN)}
    found = {name: torch.randn(*size, generator=drawn) for name, size in sizes.items()}
    return {**found, "layers.0.norm": torch.rand(WIDTH, generator=drawn) + 0.5}


class OfDictionary:
    """A network between an embedding and a tied unembedding, whose tensors are those of a dictionary."""

    def __init__(self) -> None:
        self.held, self.start = checkpoint(), torch.arange(3)

    def __call__(self, tokens: Any) -> Any:
        held = self.held
        x = held["table"][tokens]
        normed = torch.nn.functional.layer_norm(x, (WIDTH,), held["layers.0.norm"])
        x = x + torch.relu(normed @ held["layers.0.up"].T) @ held["layers.0.down"].T
        return x @ held["table"].T


class OfObjects:
    """The same with objects in a list, and a forward pass."""

    def __init__(self) -> None:
        held = checkpoint()
        self.table = held["table"]
        self.layers = [SimpleNamespace(**{name: held[f"layers.0.{name}"] for name in ("norm", "up", "down")})]

    def forward(self, tokens: Any) -> Any:
        x = self.table[tokens]
        for one in self.layers:
            normed = torch.nn.functional.layer_norm(x, (WIDTH,), one.norm)
            x = x + torch.relu(normed @ one.up.T) @ one.down.T
        return x @ self.table.T


@pytest.mark.parametrize("kind", (OfDictionary, OfObjects))
def test_tensors_are_the_parameters_of_a_module(kind: Any) -> None:
    found = kind()
    model = find_model(found, "model")
    assert model.framework == "torch"
    names = {name for name, _ in model.found.named_parameters()}
    assert names == {"table", "layers.0.up", "layers.0.down", "layers.0.norm"}
    tokens = torch.tensor([[1, 4, 2]])
    expected = found(tokens) if callable(found) else found.forward(tokens)
    assert torch.equal(model.found(tokens), expected)
    # In another dtype too, in which the object's own tensors are not.
    assert model.found.double()(tokens).dtype == torch.float64
    assert torch.allclose(model.found(tokens).float(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", (OfDictionary, OfObjects))
def test_they_are_read_and_judged(kind: Any) -> None:
    recognition = recognise(recorded_pass(find_model(kind(), "model"), seed=0).trace)
    assert (recognition.departures, recognition.understood) == ((), recognition.captured)
    report = check_model(kind())
    assert report.exit_status == 0 and report.counts["passed"] > 0


def test_an_object_without_a_forward_pass_is_no_model() -> None:
    with pytest.raises(NotAModel):
        find_model(SimpleNamespace(table=torch.ones(2, 2)), "model")
