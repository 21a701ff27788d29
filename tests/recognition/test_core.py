"""What an attention does between its heads and their outputs: scale, cap, visible keys, bias, sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.core import Heads, Setting, fits

torch = pytest.importorskip("torch")

B, L, H, D = 2, 9, 3, 6
E = H * D
Reading = Callable[..., AttentionReading]
CAUSAL = torch.ones(L, L).tril().bool()
ALONE = pytest.param(0, marks=pytest.mark.xfail(reason="where each query sees itself alone, no scale is tried"))
DISTANCE = torch.arange(L)[:, None] - torch.arange(L)


class Attention(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """An attention whose weights are made by a function of the test, from the products of queries and keys."""

    def __init__(self, weights: Callable[[Any], Any] | None = None, **fused: Any) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (torch.nn.Linear(E, E) for _ in range(4))
        self.sinks = torch.nn.Parameter(torch.zeros(H, 1))
        self.weights = weights
        self.fused = fused

    def forward(self, x: Any) -> Any:
        query, key, value = (one(x).view(B, L, H, D).transpose(1, 2) for one in (self.query, self.key, self.value))
        if self.weights is None:
            heads = torch.nn.functional.scaled_dot_product_attention(query, key, value, **self.fused)
        else:
            heads = self.weights(query @ key.transpose(-1, -2), self) @ value
        return self.out(heads.transpose(1, 2).reshape(B, L, E))


def setting_of(attention_in: Reading, weights: Any = None, **fused: Any) -> Setting:
    found = attention_in(Attention(weights, **fused), B, L, E)
    assert found.setting is not None
    assert fits(found.heads, found.setting)
    return found.setting


def softmax(logits: Any, visible: Any = None) -> Any:
    return (logits if visible is None else logits.masked_fill(~visible, float("-inf"))).softmax(-1)


@pytest.mark.parametrize("scale", (1.0, 1.0 / D, 0.2, D**0.5))
def test_scale(attention_in: Reading, scale: float) -> None:
    found = setting_of(attention_in, lambda products, _: softmax(scale * products))
    assert found.scale == pytest.approx(scale, rel=1e-6)
    assert found.pattern == "every key"


def test_the_usual_scale_is_not_said(attention_in: Reading) -> None:
    assert setting_of(attention_in, lambda products, _: softmax(products / D**0.5)).scale is None
    assert setting_of(attention_in).scale is None


@pytest.mark.parametrize("fill", (float("-inf"), -1e9, -1e4, torch.finfo(torch.float32).min))
def test_causality_by_whatever_fill(attention_in: Reading, fill: float) -> None:
    found = setting_of(attention_in, lambda products, _: (products / D**0.5).masked_fill(~CAUSAL, fill).softmax(-1))
    assert (found.pattern, found.mask, found.window) == ("causal", None, None)


@pytest.mark.parametrize("keys", (ALONE, 2, L - 2))
def test_causal_window(attention_in: Reading, keys: int) -> None:
    visible = CAUSAL & (keys >= DISTANCE)
    found = setting_of(attention_in, lambda products, _: softmax(products / D**0.5, visible))
    assert (found.pattern, found.window) == ("causal window", (keys, 0))


def test_a_window_as_wide_as_the_sequence_is_causality(attention_in: Reading) -> None:
    visible = (DISTANCE >= 0) & (DISTANCE <= L - 1)
    assert setting_of(attention_in, lambda products, _: softmax(products / D**0.5, visible)).window is None


def test_window_on_both_sides(attention_in: Reading) -> None:
    found = setting_of(attention_in, attn_mask=(DISTANCE >= -1) & (DISTANCE <= 3))
    assert (found.pattern, found.window) == ("window", (3, 1))


def test_padding_beside_causality(attention_in: Reading) -> None:
    seen = torch.ones(B, 1, 1, L, dtype=torch.bool)
    seen[1, ..., -3:] = False
    found = setting_of(attention_in, lambda products, _: softmax(products / D**0.5, CAUSAL & seen))
    assert found.pattern == "causal and masked"
    assert found.mask is not None
    assert np.array_equal(found.mask, np.broadcast_to(seen.numpy(), found.mask.shape))


@pytest.mark.parametrize("cap", (5.0, 30.0))
def test_softcap(attention_in: Reading, cap: float) -> None:
    found = setting_of(attention_in, lambda products, _: softmax(cap * torch.tanh(products / D**0.5 / cap), CAUSAL))
    assert found.softcap == pytest.approx(cap, rel=1e-4)
    assert found.scale is None
    assert found.is_causal


@pytest.mark.parametrize("fused", (False, True))
def test_a_bias_by_distance(attention_in: Reading, fused: bool) -> None:
    table = torch.as_tensor(reference.alibi_bias(H, L, L))[None].expand(B, H, L, L)
    if fused:
        found = setting_of(attention_in, attn_mask=table.masked_fill(~CAUSAL, float("-inf")).float())
    else:
        found = setting_of(attention_in, lambda products, _: softmax(products / D**0.5 + table, CAUSAL))
    assert found.is_causal
    assert found.bias is not None
    below = np.tril(np.ones((L, L), dtype=bool))
    close = np.abs(np.broadcast_to(found.bias, (B, H, L, L)) - table.numpy())[..., below]
    assert close.max() < (1e-6 if fused else 1e-12)


def test_sinks(attention_in: Reading) -> None:
    def weights(products: Any, model: Any) -> Any:
        logits = (products / D**0.5).masked_fill(~CAUSAL, float("-inf"))
        sinks = model.sinks[None, :, :, None].expand(B, H, L, 1)
        return torch.cat([logits, sinks], dim=-1).softmax(-1)[..., :-1]

    model = Attention(weights)
    found = attention_in(model, B, L, E)
    assert found.setting is not None
    assert found.setting.sinks is not None
    assert found.setting.sinks.shape == (H,)
    assert found.setting.is_causal
    # Parameters are drawn for the pass: zeros would be those of the module.
    assert np.abs(found.setting.sinks).min() > 0


@pytest.mark.parametrize(
    "weights",
    (
        lambda products, _: (products / D**0.5).softmax(-2),
        lambda products, _: (products / D**0.5).softmax(1),
        lambda products, _: (products / D**0.5).softmax(-1).transpose(-1, -2),
        lambda products, _: (products / D**0.5).softmax(-1) * CAUSAL,
        lambda products, _: (products / D**0.5).relu(),
    ),
    ids=("over the queries", "over the heads", "transposed", "masked after the softmax", "no softmax"),
)
def test_what_is_no_softmax_over_visible_keys_fits_no_setting(attention_in: Reading, weights: Any) -> None:
    assert attention_in(Attention(weights), B, L, E).setting is None


def test_fits_refuses_a_setting_that_is_nearly_right() -> None:
    generator = np.random.default_rng(0)
    query, key, value = (generator.normal(size=(2, 3, 5, 4)) for _ in range(3))
    output = reference.scaled_dot_product_attention(query, key, value, is_causal=True)
    heads = Heads(query, key, value, output)
    assert fits(heads, Setting(is_causal=True))
    assert fits(heads, Setting(is_causal=True, scale=0.5))
    assert not fits(heads, Setting(is_causal=True, scale=0.5 + 1e-6))
    assert not fits(heads, Setting())
    assert not fits(heads, Setting(is_causal=True, softcap=1e3))
