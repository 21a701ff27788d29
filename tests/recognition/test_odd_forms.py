"""Forms in which strangers write what is right are not accused, and the mistake beside them is still named."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def forms(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("odd_forms")


def found(model: Any, inputs: Any = None) -> Recognition:
    return recognise(recorded_pass(find_model(model, "model"), inputs, seed=0).trace)


def attentions(recognition: Recognition) -> list[str]:
    return [one.summary for one in recognition.parts if one.role == "multi_head_attention"]


def test_a_bias_may_be_taken_off(forms: ModuleType) -> None:
    right = found(forms.alibi())
    assert right.departures == ()
    assert all("causal, ALiBi" in one for one in attentions(right))
    assert found(forms.alibi(wrong=True)).departures


def test_the_second_networks_of_layers_are_alike(forms: ModuleType) -> None:
    recognition = found(forms.Macarons())
    assert recognition.departures == ()
    assert recognition.differences == ()


def test_sinks_in_one_table_and_the_first_keys_are_said(forms: ModuleType) -> None:
    recognition = found(forms.OneTable())
    assert recognition.departures == ()
    assert all("causal of 4 keys and the first 2, sinks" in one for one in attentions(recognition))


def test_a_product_of_three_is_two_products() -> None:
    class Model:
        def __init__(self) -> None:
            numbers = np.random.default_rng(0)
            self.table = numbers.normal(size=(40, 24))
            self.qkv, self.out = numbers.normal(size=(3, 24, 4, 6)) * 0.3, numbers.normal(size=(4, 6, 24)) * 0.3

        def forward(self, tokens: Any) -> Any:
            x = self.table[tokens]
            query, key, value = np.einsum("bld,cdhk->cbhlk", x, self.qkv)
            weights = np.exp(np.einsum("bhik,bhjk->bhij", query, key) / np.sqrt(6))
            weights = weights / weights.sum(-1, keepdims=True)
            return x + np.einsum("hkd,bhij,bhjk->bid", self.out, weights, value)

    recognition = found(Model())
    assert recognition.departures == ()
    assert attentions(recognition)
    assert recognition.share_understood == 1.0


def test_without_a_sublayer_little_is_understood() -> None:
    class Mixer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.norm = torch.nn.Embedding(40, 24), torch.nn.LayerNorm(24)
            self.maps = torch.nn.ModuleList(torch.nn.Linear(24, 24) for _ in range(3))

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens)
            for one in self.maps:
                x = torch.cumsum(one(x).sin() * x.cos(), 1) / 7
            return self.norm(x)

    assert found(Mixer()).share_understood < 0.75


def test_a_standardised_input_is_no_norm_of_a_layer() -> None:
    class Standardised(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.taken, self.norm, self.head = torch.nn.Linear(12, 24), torch.nn.LayerNorm(24), torch.nn.Linear(24, 5)
            self.up, self.down = torch.nn.Linear(24, 48), torch.nn.Linear(48, 24)

        def forward(self, values: Any) -> Any:
            x = self.taken((values - values.mean(-1, keepdim=True)) / values.std(-1, keepdim=True))
            x = x + self.down(torch.relu(self.up(self.norm(x))))
            return self.head(x)

    recognition = found(Standardised(), (torch.randn(2, 7, 12),))
    assert recognition.departures == ()
    assert recognition.share_understood > 0.5
