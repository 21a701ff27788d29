"""Mixtures of transformers, whose experts are computed in one product as they are loaded."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def mixtral(**settings: Any) -> Any:
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4}
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(**sizes, **heads, **settings)).eval()


def test_experts_are_run_one_by_one_and_read() -> None:
    model = mixtral(experts_implementation="grouped_mm")
    trace = recorded_pass(find_model(model, "model"), seed=0).trace
    assert any('`experts_implementation="grouped_mm"`' in note and "one by one" in note for note in trace.notes)
    found = recognise(trace)
    assert (found.departures, found.share_understood, found.share_found) == ((), 1.0, 1.0)
    assert model.config._experts_implementation == "grouped_mm"


def test_nothing_is_said_of_experts_that_run_one_by_one() -> None:
    trace = recorded_pass(find_model(mixtral(experts_implementation="eager"), "model"), seed=0).trace
    assert not any("experts" in note for note in trace.notes)
