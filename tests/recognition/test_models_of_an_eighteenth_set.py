"""Kinds of models that were passed in silence, or half read, in an eighteenth set of strangers' files."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from veriformer import check

TOKENS = torch.randint(2, 30, (3, 11), generator=torch.Generator().manual_seed(0))


def said(report: Any) -> list[str]:
    return [one.sentence for one in report.departures]


def triangle(length: int, window: int | None = None) -> torch.Tensor:
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & (distance < (window or length))


class Attention(torch.nn.Module):
    def __init__(self, window: int | None, cap: float | None, *, capped_last: bool) -> None:
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.window, self.cap, self.capped_last = window, cap, capped_last

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        logits = q @ k.transpose(-1, -2) * 0.25
        seen = triangle(length, self.window)
        if self.cap is not None and not self.capped_last:
            logits = self.cap * torch.tanh(logits / self.cap)
        logits = torch.where(seen, logits, torch.finfo(logits.dtype).min)
        if self.cap is not None and self.capped_last:
            logits = self.cap * torch.tanh(logits / self.cap)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 32))


class Layered(torch.nn.Module):
    """A decoder whose layers have a window in turn, as its configuration lists them."""

    def __init__(self, kinds: tuple[str, ...], *, cap: float | None = None, capped_last: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.config = SimpleNamespace(
            layer_types=("sliding_attention", "full_attention"), window=4, hidden=32, vocabulary=30
        )
        self.table, self.head = torch.nn.Embedding(30, 32), torch.nn.Linear(32, 30)
        windows = [4 if kind == "sliding_attention" else None for kind in kinds]
        self.layers = torch.nn.ModuleList(Attention(one, cap, capped_last=capped_last) for one in windows)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(32) for _ in (*kinds, "last"))

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = x + layer(norm(x))
        return self.head(self.norms[-1](x))


def test_the_kinds_of_layers_are_held_against_a_configuration() -> None:
    right = check(Layered(("sliding_attention", "full_attention")), inputs=(TOKENS,))
    assert not right.departures
    assert {"config.window 4 (the query's own key among them)", "config.layer_types"} <= set(right.recognition.agreed)
    wrong = said(check(Layered(("full_attention", "sliding_attention")), inputs=(TOKENS,)))
    assert "in config.layer_types that the layer is 'sliding_attention'" in wrong[0]
    assert "a query sees every earlier key" in wrong[0] and "a query sees 4 keys" in wrong[1]
    # Where no layer shows a window, it may be longer than the sequence.
    assert not said(check(Layered(("full_attention", "full_attention")), inputs=(TOKENS,)))


def test_a_cap_behind_the_mask_is_named_at_any_scale() -> None:
    full = ("full_attention", "full_attention")
    assert not said(check(Layered(full, cap=6.0), inputs=(TOKENS,)))
    report = check(Layered(full, cap=6.0, capped_last=True), inputs=(TOKENS,))
    assert {suspect.name for one in report.departures for suspect in one.suspects} == {"softcap_after_mask"}


class Translator(torch.nn.Module):
    """An encoder and a decoder of one table, whose rows may be scaled for one of them only."""

    def __init__(self, factor: float = 32**0.5, *, norm_on_output: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(30, 32)
        self.encoder = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.decoders = torch.nn.ModuleList(
            torch.nn.TransformerDecoderLayer(32, 4, 64, dropout=0.0, batch_first=True) for _ in range(2)
        )
        self.factor, self.norm_on_output = factor, norm_on_output

    def forward(self, source: Any, target: Any) -> Any:
        memory = self.encoder(self.table(source) * 32**0.5)
        x = self.table(target) * self.factor
        mask = ~triangle(target.shape[1])
        for one in self.decoders:
            x = one.norm1(x + one.self_attn(x, x, x, attn_mask=mask, need_weights=False)[0])
            x = one.norm2(x + one.multihead_attn(x, memory, memory, need_weights=False)[0])
            y = one.linear2(torch.relu(one.linear1(x)))
            x = x + one.norm3(y) if self.norm_on_output else one.norm3(x + y)
        return x @ self.table.weight.T


@pytest.mark.parametrize(
    ("wrong", "words"),
    (
        ({"factor": 1.0}, "the rows of table are multiplied by 5.657 in one place and taken as they are in another"),
        (
            {"norm_on_output": True},
            "the norm of each self-attention or cross-attention is behind the sum, the norm of each feed-forward is "
            "on its output",
        ),
    ),
)
def test_what_parts_do_otherwise_is_remarked(wrong: dict[str, Any], words: str) -> None:
    inputs = (TOKENS, TOKENS[:, :7])
    assert not check(Translator(), inputs=inputs).recognition.remarks
    assert words in check(Translator(**wrong), inputs=inputs).recognition.remarks


class Padded(torch.nn.Module):
    """An encoder that hides its padding, the token 1, along the keys, or along the queries."""

    def __init__(self, *, along_queries: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv, self.out = torch.nn.Embedding(30, 32), torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.norm, self.along_queries = torch.nn.LayerNorm(32), along_queries

    def forward(self, tokens: Any) -> Any:
        batch, length = tokens.shape
        x = self.table(tokens)
        q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        real = tokens != 1
        seen = real[:, None, :, None] if self.along_queries else real[:, None, None, :]
        logits = torch.where(seen, q @ k.transpose(-1, -2) * 8**-0.5, -1e9)
        return self.norm(x + self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 32)))


def test_a_mask_of_padding_that_stands_along_the_queries_departs() -> None:
    padded = TOKENS.clone()
    padded[1, -3:] = 1
    assert not said(check(Padded(), inputs=(padded,)))
    assert "the queries of token 1 see no key" in said(check(Padded(along_queries=True), inputs=(padded,)))[0]


LINEN = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Encoder(nn.Module):
    pad_id: int = 1

    @nn.compact
    def __call__(self, ids, attention_mask=None):
        keep = ids != self.pad_id if attention_mask is None else attention_mask.astype(bool)
        x = nn.Embed(30, 16)(ids)
        x = nn.LayerNorm()(x + nn.SelfAttention(2)(x, mask=keep[:, None, None, :]))
        return nn.LayerNorm()(x + nn.Dense(16)(nn.gelu(nn.Dense(32)(x))))


def build():
    module = Encoder()
    return module, module.init(jax.random.key(0), jnp.full((1, 5), 7))
"""


@pytest.mark.long
def test_the_code_of_a_linen_module_is_read(tmp_path: Any) -> None:
    (tmp_path / "encoder.py").write_text(LINEN, encoding="utf-8")
    report = check(f"{tmp_path / 'encoder.py'}:build")
    assert not any("has no effect" in one for one in report.notices)
    assert report.recognition.padding_token == 1 and report.exit_status == 0
