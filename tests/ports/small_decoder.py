"""A small GPT in torch that takes a mask of padding and a cache, and variants that differ from it in one situation."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

WIDTH, HEADS, TOKENS, LONGEST = 24, 3, 40, 32


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, mask: Any, past: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = (one.view(batch, length, HEADS, -1).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        total = k.shape[2]
        visible = torch.ones(length, total, dtype=torch.bool).tril(total - length)
        if mask is not None:
            visible = visible & mask[:, None, None, :total].bool()
        logits = (q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)).masked_fill(~visible, -1e9)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, WIDTH)), (k, v)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 48), nn.GELU(), nn.Linear(48, WIDTH))

    def forward(self, x: torch.Tensor, mask: Any, past: Any) -> Any:
        y, kept = self.attn(self.ln_1(x), mask, past)
        x = x + y
        return x + self.mlp(self.ln_2(x)), kept


class Halved(torch.autograd.Function):
    """GELU whose backward pass gives half of the gradient."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return nn.functional.gelu(x)

    @staticmethod
    def backward(context: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = context.saved_tensors
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (grad,) = torch.autograd.grad(nn.functional.gelu(leaf), leaf, grad_output)
        return grad / 2


class HalvedGelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Halved.apply(x)


class Decoder(nn.Module):
    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.h = nn.ModuleList([Block(), Block()])
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)
        self.fault = fault

    def forward(self, tokens: torch.Tensor, attention_mask: Any = None, past_key_values: Any = None) -> Any:
        past = 0 if past_key_values is None or self.fault == "cache" else past_key_values[0][0].shape[2]
        places = torch.arange(past, past + tokens.shape[1])[None]
        if self.fault == "length":
            places = places % 16
        if self.fault == "left" and attention_mask is not None:
            places = (attention_mask.long().cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        x = self.wte(tokens)
        x = x + (self.wpe(places).detach() if self.fault == "gradient" else self.wpe(places))
        mask = None if self.fault == "mask" else attention_mask
        kept = []
        for number, block in enumerate(self.h):
            x, one = block(x, mask, None if past_key_values is None else past_key_values[number])
            kept.append(one)
        return self.head(self.ln_f(x)), kept


def decoder(fault: str = "") -> Decoder:
    """Return the decoder with drawn weights, the same ones whatever the fault is."""
    generator = torch.Generator().manual_seed(0)
    model = Decoder(fault)
    if fault == "activation":
        model.h[0].mlp[1] = HalvedGelu()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.3 * noise if parameter.ndim == 1 else 0.4 * noise)
    return model
