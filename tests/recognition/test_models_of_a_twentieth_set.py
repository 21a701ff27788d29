"""Kinds of models that were accused or passed over in a twentieth set of strangers' files, and of architectures."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from veriformer import check, reference

TOKENS = torch.randint(2, 30, (3, 11), generator=torch.Generator().manual_seed(0))


def said(report: Any) -> list[str]:
    return [one.sentence for one in report.departures]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(32), torch.nn.LayerNorm(32)
        self.qkv, self.out = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.wide, self.back = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in self.qkv(self.first(x)).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(8)).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, 32))
        return x + self.back(torch.nn.functional.silu(self.wide(self.second(x))))


class Encoder(torch.nn.Module):
    """Tokens and sinusoids, of which either may be scaled, and layers behind something else."""

    def __init__(self, *, of_tokens: float = 1.0, of_positions: float = 1.0, between: Any = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(30, 32)
        positions = torch.as_tensor(reference.sinusoidal_positions(64, 32), dtype=torch.float32)
        self.register_buffer("positions", positions, persistent=False)
        self.layers, self.norm = torch.nn.ModuleList((Block(), Block())), torch.nn.LayerNorm(32)
        self.of_tokens, self.of_positions, self.between = of_tokens, of_positions, between or (lambda x: x)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens) * self.of_tokens + self.positions[: tokens.shape[1]] * self.of_positions
        return self.norm(self.layers[1](self.between(self.layers[0](x))))


@pytest.mark.parametrize(
    ("of_tokens", "of_positions", "departs"),
    ((32**0.5, 1.0, False), (1.0, 32**-0.5, False), (32**0.5, 32**-0.5, True)),
)
def test_positions_divided_by_the_root_are_tokens_times_it(
    of_tokens: float, of_positions: float, departs: bool
) -> None:
    report = check(Encoder(of_tokens=of_tokens, of_positions=of_positions), inputs=(TOKENS,))
    assert bool(said(report)) is departs
    if departs:
        assert {suspect.name for one in report.departures for suspect in one.suspects} == {"pe_scaled_down"}


def test_what_ran_on_nan_alone_is_not_judged() -> None:
    assert not said(check(Encoder(between=lambda x: (x - x) / (x - x)), inputs=(TOKENS,)))


class Turned(torch.nn.Module):
    """A language model whose configuration has a group for its rotation, beside one of the whole for another part."""

    def __init__(self, base: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        inner = SimpleNamespace(rope_parameters={"rope_theta": 10000.0}, hidden_size=32)
        self.config = SimpleNamespace(text_config=inner, rope_parameters={"rope_theta": 1200.0})
        self.language_model = torch.nn.ModuleList((Block(), Block()))
        self.table, self.turned_by = torch.nn.Embedding(30, 32), [base]
        for one in self.language_model:
            one.forward = lambda x, one=one: self.turned(one, x)  # type: ignore[method-assign]

    def turned(self, block: Block, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in block.qkv(block.first(x)).chunk(3, -1))
        angles = torch.arange(length)[:, None] * self.turned_by[0] ** (-torch.arange(0, 8, 2) / 8)
        cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
        q, k = (one * cos + torch.cat((-one[..., 4:], one[..., :4]), -1) * sin for one in (q, k))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(8)).softmax(-1)
        return x + block.out((weights @ v).transpose(1, 2).reshape(batch, length, 32))

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for one in self.language_model:
            x = one(x)
        return x


def test_a_group_of_the_language_model_stands_for_that_of_the_whole() -> None:
    assert not said(check(Turned(10000.0), inputs=(TOKENS,)))
    wrong = said(check(Turned(500.0), inputs=(TOKENS,)))
    assert wrong and all("config.text_config.rope_parameters.rope_theta is 10000" in one for one in wrong)


class OfImagesToo(Encoder):
    """An encoder with a norm and a table that patches alone use, and filters that nothing calls without an image."""

    def __init__(self, *, filters: bool) -> None:
        super().__init__()
        if filters:
            self.patches = torch.nn.Conv2d(3, 32, 4)
        self.pos_embed, self.of_patches = torch.nn.Parameter(torch.zeros(1, 17, 32)), torch.nn.LayerNorm(32)


def test_what_stands_beside_filters_that_nothing_calls_is_for_images() -> None:
    assert not said(check(OfImagesToo(filters=True), inputs=(TOKENS,)))
    assert "the result does not depend on its pos_embed" in said(check(OfImagesToo(filters=False), inputs=(TOKENS,)))


def remarks(report: Any) -> str:
    return " ".join(report.recognition.remarks)


class Normed(torch.nn.Module):
    """Layers whose norms stand as they are told, and may be one for both sublayers."""

    def __init__(self, *, shared: bool = False, behind: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.layers = torch.nn.Embedding(30, 32), torch.nn.ModuleList((Block(), Block()))
        self.after = torch.nn.ModuleList(torch.nn.LayerNorm(32) for _ in range(4))
        self.last, self.shared, self.behind = torch.nn.LayerNorm(32), shared, behind

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for number, one in enumerate(self.layers):
            x = x + self.after[2 * number](self.attention(one, one.first(x)))
            y = one.back(torch.nn.functional.silu(one.wide((one.first if self.shared else one.second)(x))))
            after = self.after[2 * number + 1]
            x = after(x + y) if self.behind else x + after(y)
        return self.last(x)

    @staticmethod
    def attention(block: Block, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in block.qkv(x).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(8)).softmax(-1)
        return block.out((weights @ v).transpose(1, 2).reshape(batch, length, 32))


def test_norms_that_stand_otherwise_or_serve_twice_are_remarked() -> None:
    assert not remarks(check(Normed(), inputs=(TOKENS,)))
    behind = remarks(check(Normed(behind=True), inputs=(TOKENS,)))
    assert "the norms of each self-attention are before it and on its output" in behind
    assert "the norms of each feed-forward are before it and behind the sum" in behind
    assert "is that before the self-attention and before the feed-forward in each layer" in remarks(
        check(Normed(shared=True), inputs=(TOKENS,))
    )


class Images(torch.nn.Module):
    """Patches of an image, and the image made of vectors again, whose numbers may stand column by column."""

    def __init__(self, order: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.patches, self.block = torch.nn.Conv2d(3, 32, 2, 2), Block()
        self.places, self.last = torch.nn.Parameter(torch.randn(1, 16, 32)), torch.nn.Linear(32, 12)
        self.order = order

    def forward(self, images: Any) -> Any:
        x = self.block(self.patches(images).flatten(2).transpose(1, 2) + self.places)
        return torch.einsum(self.order, self.last(x).reshape(-1, 4, 4, 2, 2, 3)).reshape(-1, 3, 8, 8)


def test_the_order_of_the_numbers_in_a_patch_is_stated() -> None:
    words = {
        order: check(Images(order), inputs=(torch.randn(2, 3, 8, 8),)).parts[-1].summary
        for order in ("nhwpqc->nchpwq", "nhwpqc->nchqwp")
    }
    assert words["nhwpqc->nchpwq"].endswith("row by row")
    assert words["nhwpqc->nchqwp"].endswith("row by row, the numbers of each column by column")


class PooledTwice(Encoder):
    def __init__(self, first: int) -> None:
        super().__init__()
        self.head, self.begin = torch.nn.Linear(64, 5), first

    def forward(self, tokens: Any) -> Any:
        x = super().forward(tokens)
        return self.head(torch.cat((x[:, 0], x[:, self.begin :].mean(1)), -1))


@pytest.mark.parametrize("first", (1, 4))
def test_vectors_side_by_side_are_told(first: int) -> None:
    summaries = [one.summary for one in check(PooledTwice(first), inputs=(TOKENS,)).parts]
    assert any(f"of position 0 beside the mean over the positions from {first}" in one for one in summaries)


class OneMap(Encoder):
    """Networks whose one map gives gate and linear branch as halves, or in turns."""

    def __init__(self, *, in_turns: bool) -> None:
        super().__init__()
        self.both, self.down, self.in_turns = torch.nn.Linear(32, 80), torch.nn.Linear(40, 32), in_turns

    def forward(self, tokens: Any) -> Any:
        x = super().forward(tokens)
        both = self.both(x)
        gate, up = (both[..., ::2], both[..., 1::2]) if self.in_turns else both.chunk(2, -1)
        return x + self.down(torch.nn.functional.silu(gate) * up)


@pytest.mark.parametrize(("in_turns", "words"), ((False, "gate and up"), (True, "gate and up in turns")))
def test_how_one_map_gives_two_branches_is_told(in_turns: bool, words: str) -> None:
    summaries = [one.summary for one in check(OneMap(in_turns=in_turns), inputs=(TOKENS,)).parts]
    assert any(one.endswith(f"one map for {words}") for one in summaries)


class Banded(Encoder):
    def __init__(self, stated: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(local_attention=stated, hidden=32)
        for one in self.layers:
            one.forward = lambda x, one=one: x + banded(one, one.first(x))  # type: ignore[method-assign]


def banded(block: Block, x: Any) -> Any:
    batch, length, _ = x.shape
    q, k, v = (one.view(batch, length, 4, 8).transpose(1, 2) for one in block.qkv(x).chunk(3, -1))
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    logits = (q @ k.transpose(-1, -2) / math.sqrt(8)).masked_fill(distance > 3, -math.inf)
    return block.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 32))


@pytest.mark.parametrize(("stated", "departs"), ((6, False), (7, False), (3, True)))
def test_a_band_is_stated_with_both_sides(stated: int, departs: bool) -> None:
    assert bool(said(check(Banded(stated), inputs=(TOKENS,)))) is departs


class Added(Encoder):
    """Something is added between layers: positions again, others of the layer, or the stream before two layers."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.learned, self.more = torch.nn.Parameter(torch.randn(64, 32)), torch.nn.Parameter(torch.randn(64, 32))
        self.third, self.what = Block(), what

    def forward(self, tokens: Any) -> Any:
        x = first = self.table(tokens) + self.learned[: tokens.shape[1]]
        x = before = self.layers[0](x)
        x = self.layers[1](x)
        late = {"again": self.learned[: tokens.shape[1]], "others": self.more[: tokens.shape[1]], "around": first}
        return self.norm(self.third(x + {**late, "twice": x, "before": before}[self.what]))


@pytest.mark.parametrize(
    ("what", "told"),
    (
        ("again", "positions are added to the stream again"),
        ("twice", "the stream is added to itself"),
        ("before", "the stream is added to itself"),
        ("others", ""),
        ("around", ""),
    ),
)
def test_what_is_added_between_layers(what: str, told: str) -> None:
    sentences = said(check(Added(what), inputs=(TOKENS,)))
    assert told in sentences if told else not any("added" in one for one in sentences)


class OfSignals(torch.nn.Module):
    """Frames of a signal, each of a few numbers; as many of them as there are signals."""

    def __init__(self, *, filtered: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.filters, self.map = torch.nn.Conv1d(1, 32, 16, 16), torch.nn.Linear(16, 32)
        self.block, self.norm, self.filtered = Block(), torch.nn.LayerNorm(32), filtered
        self.config = SimpleNamespace(num_heads=4, hidden=32)

    def forward(self, signals: Any) -> Any:
        cut = (
            self.filters(signals[:, None]).transpose(1, 2)
            if self.filtered
            else self.map(signals.unflatten(1, (-1, 16)))
        )
        return self.norm(self.block(cut))


@pytest.mark.parametrize(("filtered", "frames"), ((True, 1), (True, 2), (True, 5), (False, 2), (False, 5)))
def test_rows_of_numbers_that_are_cut_are_samples(filtered: bool, frames: int) -> None:
    assert not said(check(OfSignals(filtered=filtered), inputs=(torch.randn(2, 16 * frames),)))


class Mixture(torch.nn.Module):
    """Experts that scores choose, which a bias corrects that begins at zero, as a buffer."""

    def __init__(self, *, corrected_shares: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.router = torch.nn.Linear(32, 6, bias=False)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.SiLU(), torch.nn.Linear(48, 32)) for _ in range(6)
        )
        self.register_buffer("bias", torch.zeros(6))
        self.corrected_shares, self.table, self.block = corrected_shares, torch.nn.Embedding(30, 32), Block()

    def forward(self, tokens: Any) -> Any:
        x = self.block(self.table(tokens))
        flat = x.reshape(-1, 32)
        scores = self.router(flat).sigmoid()
        chosen = (scores + self.bias).topk(2, -1).indices
        shares = (scores + self.bias if self.corrected_shares else scores).gather(-1, chosen)
        shares, mixed = shares / shares.sum(-1, keepdim=True), torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == number)
            mixed = mixed.index_add(0, row, expert(flat[row]) * shares[row, slot, None])
        return x + mixed.reshape(x.shape)


def test_a_correction_that_begins_at_zero_is_seen() -> None:
    assert not said(check(Mixture(corrected_shares=False), inputs=(TOKENS,)))
    wrong = check(Mixture(corrected_shares=True), inputs=(TOKENS,))
    assert {suspect.name for one in wrong.departures for suspect in one.suspects} == {"moe_correction_in_shares"}


def test_a_cast_is_no_filter() -> None:
    jnp = pytest.importorskip("jax.numpy")
    generator = np.random.default_rng(0)
    maps = [generator.normal(size=(32, 32)).astype("float32") / 6 for _ in range(4)]

    def attention(parameters: Any, x: Any) -> Any:
        # A dtype of its own first, as mixed precision has.
        x = jnp.asarray(x, jnp.float32)
        query, key, value = (
            (x @ one).reshape(len(x), 4, 8).transpose(1, 0, 2)
            for one in (parameters["q"], parameters["k"], parameters["v"])
        )
        logits = query @ key.transpose(0, 2, 1) / math.sqrt(8)
        weights = jnp.exp(logits - logits.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ value
        return x + mixed.transpose(1, 0, 2).reshape(len(x), 32) @ parameters["o"]

    report = check((attention, dict(zip("qkvo", maps, strict=True))), inputs=(generator.normal(size=(4, 32)),))
    assert any("4 heads" in one.summary for one in report.parts)


# One that was built without the configuration's eps has the library's.
def test_a_norm_with_an_eps_of_its_own_is_remarked() -> None:
    model = Normed()
    for one in model.modules():
        if isinstance(one, torch.nn.LayerNorm):
            one.eps = 1e-12
    assert "eps" not in remarks(check(model, inputs=(TOKENS,)))
    model.last.eps = 1e-5
    assert "the eps of last is 1e-05, and that of the other norms 1e-12" in remarks(check(model, inputs=(TOKENS,)))
