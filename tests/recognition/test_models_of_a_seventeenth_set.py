"""Kinds of models that were accused, not read, or passed in silence in a seventeenth set of strangers' files."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from veriformer import check


def said(report: Any) -> list[str]:
    return [one.sentence for one in report.departures]


class Decoder(torch.nn.Module):
    """A decoder with the frequencies of Llama 3, whose configuration states how they are scaled."""

    def __init__(self, *, exchanged: bool = False, factor: float = 0.25, **stated: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.config = {
            "rope_theta": 10000.0,
            "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "old_context_len": 64},
            **stated,
        }
        self.table, self.qkv, self.out = torch.nn.Embedding(30, 32), torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self._exchanged, self._factor = exchanged, factor

    def frequencies(self) -> torch.Tensor:
        plain = 10000.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
        kept = ((64 * plain / (2 * math.pi) - 1.0) / 3.0).clamp(0.0, 1.0)
        kept = 1.0 - kept if self._exchanged else kept
        return kept * plain + (1.0 - kept) * plain / 8.0

    def turned(self, x: Any) -> Any:
        angles = torch.arange(x.shape[-2])[:, None] * self.frequencies()
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cosines - b * sines, a * sines + b * cosines], -1)

    def forward(self, tokens: Any) -> Any:
        B, L = tokens.shape
        x = self.table(tokens)
        q, k, v = (one.view(B, L, 2, 16).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        y = torch.nn.functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, L, 32))
        return self._factor * (x @ self.table.weight.T)


TOKENS = torch.randint(0, 30, (3, 9))


def test_scaled_frequencies_are_held_against_a_configuration() -> None:
    right = check(Decoder(), inputs=(TOKENS,))
    assert not right.departures
    assert "frequencies scaled by 8 as Llama 3 does" in right.recognition.agreed
    assert any(
        "Llama 3's scaling of frequencies by 8" in one for one in said(check(Decoder(exchanged=True), inputs=(TOKENS,)))
    )


@pytest.mark.parametrize(
    ("stated", "factor", "sentence"),
    [
        ({"logit_scale": 0.25}, 0.25, ""),
        ({"logits_scaling": 4.0}, 0.25, ""),
        ({"logit_scale": 0.25}, 4.0, "the logits are multiplied by 4, not by 0.25"),
        ({"logits_scaling": 4.0}, 4.0, "the logits are multiplied by 4, not by 0.25"),
        ({"logit_scale": 0.25}, 1.0, "the logits are not multiplied by 0.25"),
        ({}, 4.0, ""),
    ],
)
def test_a_factor_of_logits_is_held_against_a_configuration(
    stated: dict[str, float], factor: float, sentence: str
) -> None:
    report = check(Decoder(factor=factor, **stated), inputs=(TOKENS,))
    assert any(sentence in one for one in said(report)) if sentence else not report.departures
    if not stated:
        assert any("logits times 4" in part.summary for part in report.recognition.parts)


class Similarity(torch.nn.Module):
    """Vectors that are compared with each other, by products times the exponential of what is called a scale."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.logit_scale = 2.66
        self.table, self.up, self.down = torch.nn.Embedding(30, 16), torch.nn.Linear(16, 40), torch.nn.Linear(40, 16)
        self.projection = torch.nn.Linear(16, 8)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        x = self.projection((x + self.down(torch.relu(self.up(x)))).mean(1))
        x = x / x.norm(dim=-1, keepdim=True)
        return math.exp(self.logit_scale) * x @ x.T


def test_a_scale_of_similarities_is_no_factor_of_logits() -> None:
    assert not said(check(Similarity(), inputs=(TOKENS,)))


class Relative(torch.nn.Module):
    """A causal attention with a learned bias by distance, whose table is read from its end, or from its beginning."""

    def __init__(self, *, from_end: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv, self.out = torch.nn.Embedding(30, 16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
        self.bias = torch.nn.Parameter(torch.randn(40, 2))
        self._from_end = from_end

    def forward(self, tokens: Any) -> Any:
        B, L = tokens.shape
        x = self.table(tokens)
        q, k, v = (one.view(B, L, 2, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        distance = torch.arange(L)[:, None] - torch.arange(L)
        rows = self.bias[-L:] if self._from_end else self.bias[:L]
        added = rows[(L - 1 - distance).clamp(0, L - 1)].permute(2, 0, 1)
        logits = (q @ k.transpose(-1, -2) / 8**0.5 + added).masked_fill(distance < 0, -torch.inf)
        return x + self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(B, L, 16))


@pytest.mark.parametrize("from_end", [True, False])
def test_results_that_change_with_the_length_are_told(from_end: bool) -> None:
    report = check(Relative(from_end=from_end), inputs=(TOKENS,))
    (prefix,) = (one for one in report.results if one.law.id == "model.causal.prefix")
    assert prefix.status == ("passed" if from_end else "failed")
    assert report.exit_status == 0


class OfThreeAxes(torch.nn.Module):
    """An attention whose output projection is a matrix (H, D, E), whose axes no memory has to have in an order."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv = torch.nn.Embedding(30, 16), torch.nn.Linear(16, 48)
        self.out = torch.nn.Parameter(torch.randn(2, 8, 16) / 4)

    def forward(self, tokens: Any) -> Any:
        B, L = tokens.shape
        x = self.table(tokens)
        q, k, v = (one.view(B, L, 2, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + torch.einsum("bhld,hde->ble", y, self.out)


def test_a_matrix_of_three_axes_has_no_order_of_heads() -> None:
    assert not said(check(OfThreeAxes(), inputs=(TOKENS,)))


class Grouped(torch.nn.Module):
    """Layers of two groups, whose weights lie in one dictionary."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(30, 16)
        names = [f"{kind}{group}" for group in range(2) for kind in ("up", "down")]
        self.w = torch.nn.ParameterDict({one: torch.randn(16, 16) / 4 for one in names})

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for layer in range(4):
            x = x + torch.relu(x @ self.w[f"up{layer // 2}"]) @ self.w[f"down{layer // 2}"]
        return x


def test_layers_that_share_weights_of_a_dictionary_are_told() -> None:
    report = check(Grouped(), inputs=(TOKENS,))
    assert any(
        "the same weights are those of layers 0 and 1, and those of layers 2 and 3" in one.lower()
        for one in report.notices
    )


class Masked(torch.nn.Module):
    """An encoder whose `attention_mask` is 1 where a token is hidden, or where it is seen."""

    def __init__(self, *, hides: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv, self.out = torch.nn.Embedding(30, 16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
        self._hides = hides

    def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
        B, L = input_ids.shape
        x = self.table(input_ids)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = mask if self._hides else 1 - mask
        q, k, v = (one.view(B, L, 2, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        logits = q @ k.transpose(-1, -2) / 8**0.5 - 1e4 * hidden[:, None, None, :].to(x.dtype)
        return x + self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(B, L, 16))


@pytest.mark.parametrize("hides", [True, False])
def test_a_mask_that_means_the_opposite_of_its_name_is_told(hides: bool) -> None:
    report = check(Masked(hides=hides), inputs=(TOKENS,))
    assert any("attention_mask hides the tokens where it is 1" in one for one in report.notices) is hides


class Across(torch.nn.Module):
    """An attention to a memory whose lengths must be given."""

    def __init__(self, width: int = 24, heads: int = 4) -> None:
        super().__init__()
        self.query, self.both, self.out = torch.nn.Linear(24, 24), torch.nn.Linear(24, 48), torch.nn.Linear(24, 24)

    def forward(self, x: Any, memory: Any, memory_lengths: Any) -> Any:
        B, L, E = x.shape
        q = self.query(x).view(B, L, 4, 6).transpose(1, 2)
        k, v = (one.reshape(B, -1, 4, 6).transpose(1, 2) for one in self.both(memory).chunk(2, -1))
        seen = torch.arange(memory.shape[1]) < memory_lengths[:, None]
        logits = (q @ k.transpose(-1, -2) / 6**0.5).masked_fill(~seen[:, None, None], -1e9)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(B, L, E))


def test_lengths_are_handed_over_as_numbers_of_positions() -> None:
    report = check(Across())
    assert not report.departures
    assert any("memory_lengths lengths" in one for one in report.notices)
    assert any("across, 4 heads, masked" in part.summary for part in report.recognition.parts)
