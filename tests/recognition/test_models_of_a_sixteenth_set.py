"""Kinds of models that were accused, or passed in silence, in a sixteenth set of strangers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from veriformer import check

# A decoder whose configuration stands beside it, and is handed over by the function that builds it.
DECODER = """
import torch
import torch.nn.functional as F
from torch import nn

config = {"vocab_size": 40, "width": 24, "heads": 3, "softcap": 15.0, "norm_first": True, "rotary_pct": 1.0}


def turned(x):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg["heads"]
        self.qkv, self.out = nn.Linear(24, 72), nn.Linear(24, 24)
        self.up, self.down = nn.Linear(24, 60), nn.Linear(60, 24)
        self.first, self.second = nn.LayerNorm(24), nn.LayerNorm(24)

    def attend(self, x):
        B, L, E = x.shape
        q, k, v = (one.view(B, L, self.heads, -1).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, L, E))

    def forward(self, x):
        x = x + self.attend(self.first(x))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Decoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.table, self.head = nn.Embedding(cfg["vocab_size"], 24), nn.Linear(24, cfg["vocab_size"])
        self.blocks, self.norm = nn.ModuleList(Block(cfg) for _ in range(2)), nn.LayerNorm(24)
        self.cap = cfg["softcap"]

    def forward(self, tokens):
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return self.cap * torch.tanh(logits / self.cap)


def build():
    torch.manual_seed(0)
    return Decoder(config).eval()
"""
POST_NORM = """        x = self.first(x + self.attend(x))
        return self.second(x + self.down(F.gelu(self.up(x))))
"""
PRE_NORM = """        x = x + self.attend(self.first(x))
        return x + self.down(F.gelu(self.up(self.second(x))))
"""
# As Gemma's own code has it: the halves become complex numbers, which are turned, and halves again.
COMPLEX = """    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    pairs = torch.view_as_complex(torch.stack(torch.chunk(x.float(), 2, dim=-1), dim=-1).contiguous())
    y = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
    return torch.cat(torch.chunk(y, 2, dim=-1), dim=-2).flatten(-2)
"""


def judged(tmp_path: Path, text: str, *changes: tuple[str, str]) -> Any:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = tmp_path / "mine.py"
    file.write_text(text)
    return check(f"{file}:build", isolate=True)


def said(report: Any) -> list[str]:
    return [one.sentence for one in report.departures]


def test_what_a_function_hands_over_is_a_witness(tmp_path: Path) -> None:
    report = judged(tmp_path, DECODER)
    assert not report.departures
    assert {"config.softcap 15", "config.rotary_pct 1"} <= set(report.recognition.agreed)
    changed = judged(tmp_path, DECODER, ("Decoder(config)", 'Decoder({**config, "softcap": 30.0})'))
    assert not any("softcap" in one for one in changed.recognition.agreed)
    assert not changed.departures


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("torch.tanh(logits / self.cap)", "torch.tanh(logits)", "not divided by 15 before the tanh"),
        ("self.cap * torch.tanh", "torch.tanh", "the tanh is not multiplied by 15"),
        (PRE_NORM, POST_NORM, "config.norm_first is True, and the output is added to the stream after its norm"),
    ],
    ids=("not divided", "not multiplied", "post-norm"),
)
def test_a_configuration_is_held_against_caps_and_norms(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert any(sentence in one for one in said(judged(tmp_path, DECODER, (old, new))))


def test_another_cap_is_stated_and_not_held_against_a_model(tmp_path: Path) -> None:
    changes = (("torch.tanh(logits / self.cap)", "torch.tanh(logits)"), ('"softcap": 15.0', '"clip": 10.0'))
    report = judged(tmp_path, DECODER, *changes, ('cfg["softcap"]', 'cfg["clip"]'))
    assert not report.departures
    assert any("logits z become 10·tanh(z)" in part.summary for part in report.recognition.parts)


def test_post_norm_that_is_stated_holds(tmp_path: Path) -> None:
    assert not said(judged(tmp_path, DECODER, (PRE_NORM, POST_NORM), ('"norm_first": True', '"norm_first": False')))


def test_halves_that_are_turned_as_complex_numbers_are_halves(tmp_path: Path) -> None:
    start, end = DECODER.index("    half = "), DECODER.index("class Block")
    report = judged(tmp_path, DECODER, (DECODER[start:end], COMPLEX + "\n\n"))
    assert not report.departures
    assert any("rotary, half pairing" in part.summary for part in report.recognition.parts)


def test_heads_that_are_put_together_by_components_depart(tmp_path: Path) -> None:
    change = ("y.transpose(1, 2).reshape(B, L, E)", "y.permute(0, 2, 3, 1).reshape(B, L, E)")
    assert any("by components first" in one for one in said(judged(tmp_path, DECODER, change)))
    split = "one.view(B, L, self.heads, -1).transpose(1, 2)"
    consistent = (split, "one.view(B, L, -1, self.heads).permute(0, 3, 1, 2)")
    assert not said(judged(tmp_path, DECODER, change, consistent))


# Padding that the forward pass reads from its tokens by itself.
PADDED = """
import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.position = nn.Embedding(500, 24), nn.Parameter(torch.randn(16, 24))
        self.qkv, self.out, self.norm = nn.Linear(24, 72), nn.Linear(24, 24), nn.LayerNorm(24)

    def forward(self, input_ids, attention_mask=None):
        if attention_mask is None:
            attention_mask = (input_ids != 0).long()
        B, L = input_ids.shape
        x = self.table(input_ids) + self.position[:L]
        q, k, v = (one.view(B, L, 3, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        added = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        y = ((q @ k.transpose(-1, -2)) / 8**0.5 + added).softmax(-1) @ v
        return self.norm(x + self.out(y.transpose(1, 2).reshape(B, L, 24)))


def build():
    torch.manual_seed(0)
    return Encoder().eval()
"""


def test_padding_that_code_looks_for_is_handed_over(tmp_path: Path) -> None:
    assert not said(judged(tmp_path, PADDED))
    inverted = judged(tmp_path, PADDED, ("(1.0 - attention_mask", "(attention_mask"))
    assert any("sees the keys of token 0 alone" in one for one in said(inverted))


class WithClassToken(torch.nn.Module):
    """Patches with learned positions, and a token in front, which gets some where `whole`."""

    def __init__(self, *, whole: bool, rows: int = 10) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.project, self.head, self.norm = torch.nn.Linear(12, 24), torch.nn.Linear(24, 5), torch.nn.LayerNorm(24)
        self.token, self.positions = (torch.nn.Parameter(torch.randn(1, n, 24)) for n in (1, rows))
        layer = torch.nn.TransformerEncoderLayer(24, 3, 48, dropout=0.0, norm_first=True, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self._whole = whole
        self.eval()

    def forward(self, patches: Any) -> Any:
        x = self.project(patches) + self.positions[:, -9:]
        token = self.token + self.positions[:, :1] if self._whole else self.token
        x = torch.cat([token.expand(len(x), -1, -1), x], dim=1)
        return self.head(self.norm(self.encoder(x))[:, 0])


def test_a_row_of_positions_that_no_token_gets_is_told() -> None:
    patches = torch.randn(3, 9, 12)
    departing = said(check(WithClassToken(whole=False), inputs=(patches,)))
    assert departing == ["the table of positions has a row for each of 10 tokens, and one of them gets none"]
    assert not said(check(WithClassToken(whole=True), inputs=(patches,)))
    # A token in front needs no position where the table has none for it.
    report = check(WithClassToken(whole=False, rows=9), inputs=(patches,))
    assert not report.departures
    assert any("learned positions of 9 tokens of 10" in part.summary for part in report.recognition.parts)


class Slopes(torch.nn.Module):
    """A decoder with ALiBi whose slopes begin with that of a head."""

    def __init__(self, first: int, factor: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.qkv, self.out = torch.nn.Embedding(30, 32), torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.slopes = factor * 2.0 ** (-8.0 * torch.arange(first, first + 4) / 4)

    def forward(self, tokens: Any) -> Any:
        B, L = tokens.shape
        x = self.table(tokens)
        q, k, v = (one.view(B, L, 4, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        distance = torch.arange(L)[:, None] - torch.arange(L)
        logits = q @ k.transpose(-1, -2) / 8**0.5 - self.slopes.to(x.dtype)[:, None, None] * distance
        y = logits.masked_fill(distance < 0, -torch.inf).softmax(-1) @ v
        return x + self.out(y.transpose(1, 2).reshape(B, L, 32))


def test_slopes_that_begin_with_one_are_named_and_another_factor_is_not() -> None:
    tokens = torch.randint(0, 30, (3, 9))
    (departure,) = check(Slopes(0), inputs=(tokens,)).departures
    assert [suspect.name for suspect in departure.suspects] == ["alibi_first_slope_one"]
    assert not said(check(Slopes(1), inputs=(tokens,)))
    assert not said(check(Slopes(1, factor=8**-0.5), inputs=(tokens,)))


class Routed(torch.nn.Module):
    """Experts of which a configuration states how many are chosen, and by what their shares are multiplied."""

    def __init__(self, *, chosen: int = 2, scale: float = 1.8, after: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.config = {"num_experts_per_tok": 2, "routed_scaling_factor": 1.8, "hidden_size": 16}
        self.table, self.gate = torch.nn.Embedding(30, 16), torch.nn.Linear(16, 4, bias=False)
        self.up = torch.nn.ModuleList(torch.nn.Linear(16, 40) for _ in range(4))
        self.down = torch.nn.ModuleList(torch.nn.Linear(40, 16) for _ in range(4))
        self.norm = torch.nn.LayerNorm(16)
        self._chosen, self._scale, self._after = chosen, scale, after

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        h = self.norm(x)
        shares, chosen = self.gate(h).softmax(-1).topk(self._chosen, dim=-1)
        shares = shares / shares.sum(-1, keepdim=True)
        shares = shares if self._after else shares * self._scale
        y = torch.zeros_like(x)
        for number, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
            share = (shares * (chosen == number)).sum(-1, keepdim=True)
            y = y + share * down(torch.relu(up(h)))
        return x + (y * self._scale if self._after else y)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Routed(), ""),
        (Routed(after=True), ""),
        (Routed(chosen=1), "num_experts_per_tok is 2, and each token goes to 1 of 4 experts"),
        (Routed(scale=1.0), "routed_scaling_factor is 1.8, and the experts' shares are not multiplied by it"),
    ],
    ids=("as stated", "scaled after the sum", "fewer", "without the factor"),
)
def test_routing_is_held_against_its_configuration(model: Any, sentence: str) -> None:
    departing = said(check(model.eval(), inputs=(torch.randint(0, 30, (3, 9)),)))
    assert any(sentence in one for one in departing) if sentence else not departing
