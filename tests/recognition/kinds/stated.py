"""Models whose configuration states something, truly or not."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from small import HEADS, WIDTH, Attention, Block, Decoder, Gated, triangle
from torch import nn


@dataclass
class Config:
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    hidden_act: str = "silu"
    num_attention_heads: int = HEADS
    dropout: float = 0.0


def turned(base):
    def turn(x):
        half = x.shape[-1] // 2
        frequencies = base ** (-torch.arange(half, dtype=x.dtype) / half)
        angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * frequencies
        first, second = x[..., :half], x[..., half:]
        return torch.cat(
            (first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()), -1
        )

    return turn


class Configured(Decoder):
    """It turns with a base of 10000, adds 1e-6 and uses SiLU in four heads, whatever its configuration says."""

    def __init__(self, config=None, base=10000.0):
        super().__init__(lambda: Block(Gated, lambda: Attention(turned(base)), lambda: nn.RMSNorm(WIDTH, eps=1e-6)))
        self.config = config or Config()


def with_names(**stated):
    return Configured(SimpleNamespace(**stated))


def with_a_dictionary(**stated):
    return Configured({"text_config": stated})


class KeepsItsArguments(Configured):
    def __init__(self, n_heads=HEADS, rope_theta=10000.0):
        super().__init__(SimpleNamespace(note="none"))
        self.n_heads, self.rope_theta = n_heads, rope_theta


class WithWindow(Attention):
    """Each query sees its own key and the three before it."""

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = triangle(x.shape[1]).triu(-3)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.out(y.transpose(1, 2).flatten(2))


def with_a_window_in_the_last_layer(**stated):
    model = with_names(**stated)
    model.stack.blocks[-1].attention.__class__ = WithWindow
    return model


class WithGelu(Gated):
    def forward(self, x):
        return self.down(nn.functional.gelu(self.gate(x)) * self.up(x))


class OfAnotherSlope(Gated):
    def forward(self, x):
        gate = self.gate(x)
        return self.down(gate * torch.sigmoid(1.702 * gate) * self.up(x))


def with_swish_of_another_slope(**stated):
    model = with_names(**stated)
    for block in model.stack.blocks:
        block.network.__class__ = OfAnotherSlope
    return model


def with_another_activation_in_the_last_layer(**stated):
    model = with_names(**stated)
    last = model.stack.blocks[-1]
    last.network.__class__ = WithGelu
    return model


class Mixture(nn.Module):
    """The two likeliest of four experts, with shares of the sum one or not; only this part keeps what was asked for."""

    def __init__(self, norm_topk_prob, sums_to_one):
        super().__init__()
        self.norm_topk_prob, self.sums_to_one = norm_topk_prob, sums_to_one
        self.router, self.experts = nn.Linear(WIDTH, 4, bias=False), nn.ModuleList(Gated(24) for _ in range(4))

    def forward(self, x):
        shares, chosen = self.router(x).softmax(-1).topk(2, dim=-1)
        if self.sums_to_one:
            shares = shares / shares.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            y = y + expert(x) * (shares * (chosen == number)).sum(-1, keepdim=True)
        return y


def with_experts(norm_topk_prob, sums_to_one):
    return Decoder(lambda: Block(lambda: Mixture(norm_topk_prob, sums_to_one)))


class KeepsItInParts(Decoder):
    """Each attention keeps the one configuration, which the model does not."""

    def __init__(self, **stated):
        super().__init__(lambda: Block(Gated, lambda: Attention(turned(10000.0))))
        config = SimpleNamespace(layers=2, width=WIDTH, **stated)
        for block in self.stack.blocks:
            block.attention.config = config
