"""Kinds of models that were accused or passed over in a twenty-first set of strangers' files."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import rms_norm
from veriformer import check

WIDTH, HEADS, TOKENS_KNOWN = 24, 4, 30
TOKENS = torch.randint(2, TOKENS_KNOWN, (3, 11), generator=torch.Generator().manual_seed(0))


def said(report: Any) -> list[str]:
    return [one.sentence for one in report.departures]


class Capped(nn.Module):
    """A decoder whose configuration states a cap of the attention's logits, and one of the last."""

    def __init__(self, *, inside: bool = True, at_the_end: bool = True, classes: int = TOKENS_KNOWN) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.config = SimpleNamespace(attn_logits_soft_cap=3.0, final_logit_soft_cap=6.0, num_heads=HEADS)
        self.table, self.head = nn.Embedding(TOKENS_KNOWN, WIDTH), nn.Linear(WIDTH, classes, bias=False)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 40), nn.Linear(40, WIDTH)
        self._inside, self._at_the_end = inside, at_the_end

    def forward(self, tokens: Any) -> Any:
        batch, length = tokens.shape
        x = self.table(tokens)
        parts = self.qkv(rms_norm(x, (WIDTH,))).chunk(3, -1)
        q, k, v = (one.view(batch, length, HEADS, -1).transpose(1, 2) for one in parts)
        logits = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        logits = 3.0 * torch.tanh(logits / 3.0) if self._inside else logits
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = logits.masked_fill(hidden, -torch.inf).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        x = x + self.down(torch.relu(self.up(rms_norm(x, (WIDTH,)))))
        logits = self.head(rms_norm(x, (WIDTH,)))
        return 6.0 * torch.tanh(logits / 6.0) if self._at_the_end else logits


@pytest.mark.parametrize(
    ("model", "sentence"),
    (
        (Capped(), ""),
        (Capped(inside=False), "config.attn_logits_soft_cap is 3, and the logits of the attention have no cap"),
        (Capped(at_the_end=False), "config.final_logit_soft_cap is 6, and the logits have no cap"),
        # Classes are no tokens, whose logits the cap is stated of.
        (Capped(at_the_end=False, classes=5), ""),
    ),
    ids=("as stated", "not inside", "not at the end", "classes"),
)
def test_caps_that_are_stated_and_left_out(model: Any, sentence: str) -> None:
    departing = said(check(model.eval(), inputs=(TOKENS,)))
    assert (len(departing) == 1 and sentence in departing[0]) if sentence else not departing


class Sigmoids(nn.Module):
    """Experts whose shares are sigmoids of their scores, and of sum one by the configuration."""

    def __init__(self, *, sums_to_one: bool, top_k: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.config = {"norm_topk_prob": True, "top_k": top_k}
        self.table, self.gate = nn.Embedding(TOKENS_KNOWN, 16), nn.Linear(16, 4, bias=False)
        self.up = nn.ModuleList(nn.Linear(16, 40) for _ in range(4))
        self.down = nn.ModuleList(nn.Linear(40, 16) for _ in range(4))
        self.norm, self._sums_to_one = nn.LayerNorm(16), sums_to_one

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        h = self.norm(x)
        shares, chosen = self.gate(h).sigmoid().topk(2, dim=-1)
        shares = shares / shares.sum(-1, keepdim=True) if self._sums_to_one else shares
        y = torch.zeros_like(x)
        for number, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
            y = y + (shares * (chosen == number)).sum(-1, keepdim=True) * down(torch.relu(up(h)))
        return x + y


@pytest.mark.parametrize(
    ("model", "sentence"),
    (
        (Sigmoids(sums_to_one=True), ""),
        (Sigmoids(sums_to_one=False), "the shares of the chosen experts are the sigmoids of their scores"),
        (Sigmoids(sums_to_one=True, top_k=3), "top_k is 3, and each token goes to 2 of 4 experts"),
        (Sigmoids(sums_to_one=True, top_k=50), ""),
    ),
    ids=("as stated", "not of sum one", "fewer", "a sampler's"),
)
def test_sigmoids_are_held_against_the_configuration(model: Any, sentence: str) -> None:
    departing = said(check(model.eval(), inputs=(TOKENS,)))
    assert any(sentence in one for one in departing) if sentence else not departing


class Latent(nn.Module):
    """Attention with keys and values from a latent, which its norm may be left out of."""

    def __init__(self, *, normed: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.narrow, self.narrow_norm = nn.Linear(WIDTH, 10, bias=False), nn.RMSNorm(10)
        self.query, self.out = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.key, self.value = (nn.Linear(10, WIDTH, bias=False) for _ in range(2))
        self._normed = normed

    def forward(self, x: Any) -> Any:
        latent = self.narrow_norm(self.narrow(x)) if self._normed else self.narrow(x)
        q, k, v = (
            one.view(*x.shape[:2], HEADS, -1).transpose(1, 2)
            for one in (self.query(x), self.key(latent), self.value(latent))
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class LatentDecoder(nn.Module):
    def __init__(self, *, normed: bool) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(TOKENS_KNOWN, WIDTH), nn.Linear(WIDTH, TOKENS_KNOWN, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.layers = nn.ModuleList(Latent(normed=normed) for _ in range(2))

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return self.head(x)


def test_a_norm_of_a_latent_that_is_left_out_departs() -> None:
    assert not said(check(LatentDecoder(normed=True), inputs=(TOKENS,)))
    departing = check(LatentDecoder(normed=False), inputs=(TOKENS,)).departures
    assert [one.path for one in departing] == ["layers.0.narrow_norm", "layers.1.narrow_norm"]
    assert {one.sentence for one in departing} == {"the result does not depend on its weight"}


class Sinks(nn.Module):
    """An attention with a learned number of each head beside the logits, which may be taken out of the sum again."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.sinks, self._again = nn.Parameter(torch.randn(HEADS)), again

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (one.view(batch, length, HEADS, -1).transpose(1, 2) for one in parts)
        logits = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        logits = logits.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)
        sinks = self.sinks.view(1, HEADS, 1, 1).expand(batch, -1, length, -1)
        weights = torch.cat([logits, sinks], dim=-1).softmax(-1)[..., :-1]
        weights = weights / weights.sum(-1, keepdim=True) if self._again else weights
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))


class Stacked(nn.Module):
    """Experts in stacks, with both branches clamped, as those of gpt-oss."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.gate, self._limit = nn.Linear(WIDTH, 6), limit
        self.into, self.into_bias = nn.Parameter(torch.randn(6, 32, WIDTH)), nn.Parameter(torch.randn(6, 32))
        self.back, self.back_bias = nn.Parameter(torch.randn(6, WIDTH, 16)), nn.Parameter(torch.randn(6, WIDTH))

    def forward(self, x: Any) -> Any:
        best, chosen = self.gate(x).topk(2, dim=-1)
        h = torch.einsum("bnefd,bnd->bnef", self.into[chosen], x) + self.into_bias[chosen]
        gate, up = h[..., ::2].clamp(max=self._limit), h[..., 1::2].clamp(-self._limit, self._limit)
        h = gate * torch.sigmoid(1.702 * gate) * (up + 1)
        h = torch.einsum("bnedf,bnef->bned", self.back[chosen], h) + self.back_bias[chosen]
        return torch.einsum("bned,bne->bnd", h, best.softmax(-1))


class Oss(nn.Module):
    def __init__(self, *, again: bool = False, limit: float = 2.0, classes: int = TOKENS_KNOWN) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(TOKENS_KNOWN, WIDTH), nn.Linear(WIDTH, classes, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(4))
        self.attend = nn.ModuleList(Sinks(again=again) for _ in range(2))
        self.mlp = nn.ModuleList(Stacked(limit) for _ in range(2))

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for number, (attend, mlp) in enumerate(zip(self.attend, self.mlp, strict=True)):
            x = x + attend(self.norms[2 * number](x))
            x = x + mlp(self.norms[2 * number + 1](x))
        return self.head(x)


@pytest.mark.parametrize("limit", (2.0, 0.5))
def test_branches_are_clamped_wherever_the_limit_is(limit: float) -> None:
    report = check(Oss(limit=limit), inputs=(TOKENS,))
    routers = [part.summary for part in report.parts if part.role == "router"]
    assert report.verdict == "conforms"
    assert len(routers) == 2 and all(one.endswith(f"clamped at {limit:g}") for one in routers)


def test_sinks_that_are_taken_out_again_are_told() -> None:
    said_of = [
        "no effect in attend.0 … attend.1" in "; ".join(check(Oss(again=again), inputs=(TOKENS,)).notices)
        for again in (False, True)
    ]
    assert said_of == [False, True]


class PartlyTurned(nn.Module):
    """An attention whose first components are turned, with the number of them as an attribute of the model."""

    def __init__(self, stated: int, turned: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rotary_dim, self._turned = stated, turned
        self.table, self.head = nn.Embedding(TOKENS_KNOWN, 32), nn.Linear(32, TOKENS_KNOWN, bias=False)
        self.qkv, self.out = nn.Linear(32, 96, bias=False), nn.Linear(32, 32, bias=False)

    def turned(self, x: Any) -> Any:
        width = self._turned
        angles = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        cos, sin = (one.repeat(1, 2) for one in (angles.cos(), angles.sin()))
        part = x[..., :width]
        other = torch.cat((-part[..., width // 2 :], part[..., : width // 2]), -1)
        return torch.cat((part * cos + other * sin, x[..., width:]), -1)

    def forward(self, tokens: Any) -> Any:
        x = self.table(tokens)
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, 2, 16).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        return self.head(x + self.out(y.transpose(1, 2).reshape(batch, length, 32)))


@pytest.mark.parametrize(
    ("stated", "turned", "sentence"),
    (
        (8, 8, ""),
        # No more than the whole head can be turned.
        (64, 16, ""),
        (8, 16, "the configuration says that rotary_dim is 8, and all 16 components of each head are turned"),
        (16, 8, "the configuration says that rotary_dim is 16, and 8 components of each head are turned"),
    ),
)
def test_how_many_components_are_turned_is_held_against_the_model(stated: int, turned: int, sentence: str) -> None:
    assert said(check(PartlyTurned(stated, turned), inputs=(TOKENS,))) == ([sentence] if sentence else [])


class Padded(nn.Module):
    """An encoder of one dictionary, `{"token_ids": …, "padding_mask": …}`, which may read the mask as its opposite."""

    def __init__(self, *, hides: int = 0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self._hides = nn.Embedding(TOKENS_KNOWN, WIDTH), hides
        self.places, self.norm = nn.Embedding(40, WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, batch: Any) -> Any:
        tokens, mask = batch["token_ids"], batch["padding_mask"]
        rows = self.places.weight[: tokens.shape[1]].broadcast_to(*tokens.shape, WIDTH)
        x = self.table(tokens) + rows
        q, k, v = (one.view(*tokens.shape, HEADS, -1).transpose(1, 2) for one in self.qkv(self.norm(x)).chunk(3, -1))
        logits = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        weights = logits.masked_fill((mask == self._hides)[:, None, None], -1e9).softmax(-1)
        return x + self.out((weights @ v).transpose(1, 2).flatten(2))


def test_laws_are_tried_on_a_model_of_one_dictionary() -> None:
    given = {"token_ids": TOKENS, "padding_mask": torch.ones_like(TOKENS)}
    report = check(Padded().eval(), inputs=(given,))
    assert report.verdict == "conforms"
    passed = {one.law.id for judged in report.laws for one in judged.report.results if one.status == "passed"}
    assert {"model.padding.content", "model.gradients.value"} <= passed
    assert any("learned positions" in part.summary for part in report.parts)
    assert check(Padded(hides=1).eval(), inputs=(given,)).verdict == "violates"


class Translator(nn.Module):
    """An encoder and a decoder of one layer each, whose attention across may ignore the padding of the source."""

    def __init__(self, *, across: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.source, self.target = nn.Embedding(TOKENS_KNOWN, WIDTH), nn.Embedding(TOKENS_KNOWN, WIDTH)
        self.maps = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(8))
        self.head, self._across = nn.Linear(WIDTH, TOKENS_KNOWN), across

    def attend(self, x: Any, memory: Any, maps: Any, mask: Any) -> Any:
        rows = ((x, maps[0]), (memory, maps[1]), (memory, maps[2]))
        q, k, v = (one(array).view(*array.shape[:2], HEADS, -1).transpose(1, 2) for array, one in rows)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + maps[3](y.transpose(1, 2).flatten(2))

    def forward(self, src: Any, tgt: Any, src_mask: Any = None) -> Any:
        seen = torch.ones_like(src, dtype=torch.bool) if src_mask is None else src_mask.bool()
        mask = seen[:, None, None]
        x = self.source(src)
        memory = self.attend(x, x, self.maps[:4], mask)
        return self.head(self.attend(self.target(tgt), memory, self.maps[4:], mask if self._across else None))


def test_the_padding_of_a_source_is_tried_by_its_mask() -> None:
    given = (TOKENS, TOKENS[:, :7] - 1)
    right = check(Translator(across=True).eval(), inputs=given)
    assert right.verdict == "conforms"
    assert any("Padding is judged of src" in notice for notice in right.notices)
    wrong = check(Translator(across=False).eval(), inputs=given)
    assert "model.padding.content" in {result.law.id for result in wrong.broken}
