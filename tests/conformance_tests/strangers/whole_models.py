"""Small models as people write them, right ones and wrong ones, for the laws of whole models."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LENGTH = 37, 16, 2, 100


class Attention(nn.Module):
    def __init__(self, rows: int = LENGTH) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(rows, rows, dtype=torch.bool)))

    def split(self, x):
        return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        q, k, v = map(self.split, self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~self.causal(x.shape[1]), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def causal(self, length):
        return self.mask[:length, :length]


class ShortMask(Attention):
    """Its mask has 64 rows; for longer sequences the rest is open."""

    def __init__(self) -> None:
        super().__init__(64)

    def causal(self, length):
        visible = torch.ones(length, length, dtype=torch.bool)
        short = min(length, 64)
        visible[:short, :short] = self.mask[:short, :short]
        visible[:64, 64:] = False
        return visible


class Block(nn.Module):
    def __init__(self, attention: type[nn.Module] = Attention) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, attention: type[nn.Module] = Attention, block: type[nn.Module] = Block) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.h = nn.ModuleList([block(attention) for _ in range(2)])
        self.ln_f = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def embedded(self, idx):
        return self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))

    def hidden(self, idx):
        x = self.embedded(idx)
        for block in self.h:
            x = block(x)
        return self.ln_f(x)

    def loss(self, logits, targets):
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    def forward(self, idx, targets=None):
        logits = self.head(self.hidden(idx))
        return logits, None if targets is None else self.loss(logits, targets)


class LeaksThroughAMean(GPT):
    def embedded(self, idx):
        x = super().embedded(idx)
        return x - 0.1 * x.mean(dim=1, keepdim=True)


class BatchMoments(GPT):
    def embedded(self, idx):
        x = super().embedded(idx)
        return (x - x.mean((0, 1))) / x.std((0, 1), unbiased=False)


class SoftmaxOverBatch(Attention):
    def forward(self, x):
        q, k, v = map(self.split, self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~self.causal(x.shape[1]), -1e9).softmax(0)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class DetachedPositions(GPT):
    def embedded(self, idx):
        return self.wte(idx) + self.wpe(torch.arange(idx.shape[1])).detach()


class FrozenByNoGrad(GPT):
    def embedded(self, idx):
        with torch.no_grad():
            return super().embedded(idx)


class KeepsState(GPT):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("running", torch.zeros(WIDTH))

    def embedded(self, idx):
        x = super().embedded(idx)
        self.running = 0.9 * self.running + 0.1 * x.mean((0, 1)).detach()
        return x + self.running


class DropsInEvaluation(GPT):
    def embedded(self, idx):
        return functional.dropout(super().embedded(idx), 0.1)


class TakesLabels(GPT):
    def forward(self, idx, labels=None):
        return super().forward(idx, labels)


class ShiftsLabels(TakesLabels):
    def loss(self, logits, targets):
        return super().loss(logits[:, :-1].contiguous(), targets[:, 1:].contiguous())


class NamesFewClasses(TakesLabels):
    """Each token has one of five labels, such as a part of speech."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, 5, bias=False)


class ShiftsTwice(GPT):
    def loss(self, logits, targets):
        return super().loss(logits[:, :-2].contiguous(), targets[:, 2:].contiguous())


class ShiftsOnce(GPT):
    def loss(self, logits, targets):
        return super().loss(logits[:, :-1].contiguous(), targets[:, 1:].contiguous())


class SumsLoss(GPT):
    def loss(self, logits, targets):
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")


class CountsIgnored(GPT):
    def loss(self, logits, targets):
        each = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="none")
        return each.mean()


# --- padding ----------------------------------------------------------------------------------------------------------


class Encoder(nn.Module):
    """A BERT whose `forward` takes an argument for padding, named as each of its kinds names it."""

    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.qkv = nn.ModuleList([nn.Linear(WIDTH, 3 * WIDTH) for _ in range(layers)])
        self.norm = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(layers)])
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def encoded(self, ids, hidden):
        x = self.word(ids) + self.position(torch.arange(ids.shape[1]))
        for qkv, norm in zip(self.qkv, self.norm, strict=True):
            q, k, v = qkv(x).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            if hidden is not None:
                scores = scores.masked_fill(hidden[:, None, None, :], float("-inf"))
            x = norm(x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return self.out(x)


class OnesAreReal(Encoder):
    def forward(self, input_ids, attention_mask=None):
        return self.encoded(input_ids, None if attention_mask is None else attention_mask == 0)


class TrueIsHidden(Encoder):
    def forward(self, ids, mask=None):
        return self.encoded(ids, mask)


class IgnoresPadding(Encoder):
    def forward(self, input_ids, attention_mask=None):
        return self.encoded(input_ids, None)


class PoolsPadding(Encoder):
    def forward(self, input_ids, attention_mask=None):
        return self.encoded(input_ids, None if attention_mask is None else attention_mask == 0).mean(1)


class WithAnotherMask(Encoder):
    """Its mask scales vectors and has nothing to do with padding."""

    def forward(self, ids, mask=None):
        x = self.encoded(ids, None)
        return x if mask is None else x * (0.5 + mask[..., None].to(x.dtype))


# --- caches -----------------------------------------------------------------------------------------------------------


class Rotary(nn.Module):
    """A Llama that returns its cache; its positions continue where the cache ends."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.qkv = nn.ModuleList([nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2)])
        self.norm = nn.ModuleList([nn.RMSNorm(WIDTH, eps=1e-6) for _ in range(2)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def rotate(self, x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None] / 10000.0 ** (torch.arange(half, dtype=x.dtype) / half)
        first, second = x[..., :half], x[..., half:]
        return torch.cat(
            [first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1
        )

    def begin(self, past):
        return 0 if past is None else past[0][0].shape[2]

    def rotate_keys(self, k, positions, start):
        return self.rotate(k, positions)

    def forward(self, tokens, past=None):
        start, length, cache = self.begin(past), tokens.shape[1], []
        seen = 0 if past is None else past[0][0].shape[2]
        positions = torch.arange(start, start + length)
        x = self.embed(tokens)
        for layer, (qkv, norm) in enumerate(zip(self.qkv, self.norm, strict=True)):
            q, k, v = qkv(norm(x)).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            q, k = self.rotate(q, positions), self.rotate_keys(k, positions, seen)
            if past is not None:
                k, v = torch.cat([past[layer][0], k], 2), torch.cat([past[layer][1], v], 2)
            cache.append((k, v))
            visible = torch.ones(length, k.shape[2], dtype=torch.bool).tril(k.shape[2] - length)
            scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~visible, float("-inf"))
            x = x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return self.head(x), cache


class RestartsPositions(Rotary):
    def begin(self, past):
        return 0


class DoesNotRotateTheCache(Rotary):
    def rotate_keys(self, k, positions, start):
        return self.rotate(k, positions) if start == 0 else k


class StartPosition(nn.Module):
    """Keeps its keys and values itself, as the first Llama does, and is told where a part begins."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.cache = torch.zeros(2, 8, HEADS, LENGTH, WIDTH // HEADS)

    def forward(self, tokens, start_pos: int = 0):
        batch, length = tokens.shape
        end = start_pos + length
        x = self.embed(tokens) + self.position(torch.arange(start_pos, end))
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if self.training or self.cache.dtype != k.dtype:
            self.cache = self.cache.to(k.dtype)
        self.cache[0, :batch, :, start_pos:end], self.cache[1, :batch, :, start_pos:end] = k.detach(), v.detach()
        before = self.cache[:, :batch, :, :start_pos]
        k, v = torch.cat([before[0], k], 2), torch.cat([before[1], v], 2)
        visible = torch.ones(length, end, dtype=torch.bool).tril(start_pos)
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~visible, float("-inf"))
        return self.head(x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
