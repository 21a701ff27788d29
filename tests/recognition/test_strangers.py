"""Correct models that were once accused or not read, and the rules that they showed to be wrong."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.recognition.turning import turned

pytest.importorskip("torch")


@pytest.fixture(scope="session")
def found_in(model_faults: ModuleType) -> Callable[[str], Recognition]:
    """Return a function that recognises a correct model by its name in the benchmark."""

    def recognition(name: str) -> Recognition:
        build = dict(model_faults._correct_models(("torch",)))[name]
        found: Recognition = model_faults.recognised(*build(), 0)
        return found

    return recognition


def sublayers(found: Recognition) -> tuple[int, int]:
    """Return the numbers of attentions and of networks."""
    roles = [part.role for part in found.parts]
    return sum("attention" in role for role in roles), sum("feed_forward" in role for role in roles)


@pytest.mark.parametrize(
    ("name", "counts"),
    (
        ("albert_universal", (4, 4)),
        ("clip_towers", (6, 6)),
        ("palm_fused", (3, 3)),
        ("moe_dense", (3, 3)),
        ("mla_like", (3, 3)),
        ("mup_granite", (4, 4)),
        ("whisper_like", (9, 6)),
    ),
)
def test_a_correct_model_is_found_and_not_accused(
    found_in: Callable[[str], Recognition], name: str, counts: tuple[int, int]
) -> None:
    found = found_in(name)
    assert not found.departures
    assert found.share_found >= 0.9
    assert sublayers(found) == counts


@pytest.mark.parametrize(
    ("name", "least"),
    (("ernie eager", 1.0), ("gpt_oss eager", 0.9), ("longformer eager", 0.0), ("roformer eager", 1.0)),
)
def test_a_family_of_transformers_is_not_accused(
    found_in: Callable[[str], Recognition], name: str, least: float
) -> None:
    pytest.importorskip("transformers")
    found = found_in(f"transformers {name}")
    assert not found.departures
    assert found.share_found >= least


def test_names_do_not_matter(model_faults: ModuleType) -> None:
    # The fixture has put the folder of the benchmarks' models on the path.
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(model_faults.planting.FOLDER.parent))
        model_names = importlib.import_module("model_names")
    for name in ("nanogpt", "vit"):
        assert all(one.same and not one.departures for one in model_names.every([name], [0]))


def test_the_last_pairs_of_a_large_base_are_turned_though_they_hardly_move() -> None:
    x = np.random.default_rng(0).normal(size=(2, 2, 11, 128))
    for pairing in ("half", "interleaved"):
        after = reference.rotary_embedding(x, np.arange(11), base=500000.0, pairing=pairing)  # type: ignore[arg-type]
        found = turned(x, np.asarray(after))
        assert found is not None
        assert (found.pairing, found.width, found.base) == (pairing, 128, 500000.0)


def test_what_is_not_turned_is_exactly_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(2, 2, 11, 32))
    after = x.copy()
    after[..., :16] = reference.rotary_embedding(x[..., :16], np.arange(11), base=10000.0, pairing="interleaved")
    found = turned(x, after)
    assert found is not None
    assert (found.width, found.base) == (16, 10000.0)


def test_a_step_that_gives_back_what_it_took_made_nothing() -> None:
    value = Value(np.ones((2, 3)), "constant")
    step = Step("fill_", Kind.REARRANGEMENT, (0,), (0,))
    flow = Flow(Trace("torch", "float64", (value,), (step,), (), (0,)))
    assert flow.maker(0) is None
    assert flow.source(0) == 0


def test_a_cast_rounds() -> None:
    exact = np.random.default_rng(0).normal(size=(4, 5))
    rounded = exact.astype(np.float32).astype(float)
    values = (Value(exact, "input", "x"), Value(rounded, "step"))
    step = Step("convert", Kind.REARRANGEMENT, (0,), (1,))
    flow = Flow(Trace("torch", "float64", values, (step,), (0,), (1,)))
    assert flow.unit(1) == 2.0**-24


def test_frozen_tables_of_sines_are_not_drawn_anew(traced: Callable[..., Trace]) -> None:
    import torch

    class Positions(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            table = torch.as_tensor(reference.sinusoidal_positions(12, 8))
            self.frozen = torch.nn.Parameter(table.float(), requires_grad=False)
            self.learned = torch.nn.Parameter(table.float())

        def forward(self, x: Any) -> Any:
            return x + self.frozen + self.learned

    model = Positions()
    trace = traced(model, torch.randn(12, 8))
    kept, drawn = (trace.values[trace.parameters[name]].array for name in ("frozen", "learned"))
    assert np.array_equal(kept, model.frozen.double().numpy())
    assert not np.array_equal(drawn, model.learned.detach().double().numpy())


def test_reading_takes_no_longer_where_values_are_used_twice(traced: Callable[..., Trace]) -> None:
    import torch

    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = torch.nn.Linear(6, 6)

        def forward(self, x: Any) -> Any:
            # There are 2⁶⁰ ways back to the input.
            for _ in range(60):
                x = torch.sin(x) * torch.cos(x).flip(-1)
            return self.last(x)

    assert not recognise(traced(Twice(), torch.randn(2, 3, 6))).departures
