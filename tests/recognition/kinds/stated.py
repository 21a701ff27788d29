"""Models whose configuration states something, truly or not."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from small import HEADS, WIDTH, Attention, Block, Decoder, Gated
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
