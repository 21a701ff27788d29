"""A norm of queries and keys over all heads, before these are cut, is read in whatever steps it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from veriformer.conformance_tests.recognition.attentions import AttentionReading

torch = pytest.importorskip("torch")

WIDTH, HEADS, LENGTH = 24, 3, 7


class Attention(torch.nn.Module):
    """OLMo 2's, whose norm divides what it is given, or what is left of it without a mean of 0, as Flax's does."""

    def __init__(self, *, without_mean: bool, pairs: str = "half") -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gain_q, self.gain_k = (torch.nn.Parameter(torch.randn(WIDTH)) for _ in range(2))
        self.without_mean, self.pairs = without_mean, pairs

    def normed(self, x: Any, gain: Any) -> Any:
        factor = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain
        return (x - torch.zeros(1) if self.without_mean else x) * factor

    def turned(self, x: Any) -> Any:
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        angles = torch.cat((angles, angles), -1)[:, None]
        if self.pairs == "half":
            moved = torch.cat((-x[..., half:], x[..., :half]), -1)
        else:
            moved = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * angles.cos() + moved * angles.sin()

    def forward(self, x: Any) -> Any:
        q, k = self.normed(self.q(x), self.gain_q), self.normed(self.k(x), self.gain_k)
        q, k, v = (one.unflatten(-1, (HEADS, -1)) for one in (q, k, self.v(x)))
        weights = torch.einsum("blhd,bshd->bhls", self.turned(q), self.turned(k)).mul(8**-0.5).softmax(-1)
        return self.out(torch.einsum("bhls,bshd->blhd", weights, v).flatten(2))


@pytest.mark.parametrize("without_mean", (False, True))
def test_a_norm_over_all_heads_is_read(attention_in: Callable[..., AttentionReading], *, without_mean: bool) -> None:
    found = attention_in(Attention(without_mean=without_mean), 2, LENGTH, WIDTH)
    for operand in (found.query, found.key):
        assert operand.understood
        assert operand.order == ("rms_norm", "rotary")
        assert operand.norm is not None
        assert operand.norm.width == WIDTH


@pytest.mark.parametrize("without_mean", (False, True))
def test_what_is_behind_the_norm_is_kept_where_it_is_no_rotation(
    attention_in: Callable[..., AttentionReading], *, without_mean: bool
) -> None:
    found = attention_in(Attention(without_mean=without_mean, pairs="mixed"), 2, LENGTH, WIDTH)
    assert not found.query.understood
    assert found.query.middle is not None
