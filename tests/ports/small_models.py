"""A small GPT in torch, and the converter of its weights."""

from __future__ import annotations

import numpy as np
import torch
from small_numpy import HEADS, WIDTH, Parameters
from torch import nn

LAYERS, TOKENS, LENGTH = 2, 29, 9


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, length, _ = x.shape
        q, k, v = (one.view(b, length, HEADS, -1).transpose(1, 2) for one in self.c_attn(x).chunk(3, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.fc, self.proj = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(nn.functional.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.h = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def gpt(seed: int = 0) -> GPT:
    """Return the GPT with weights as those of a trained one: no gain is 1, no bias 0."""
    model = GPT()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(parameter + 0.3 * noise if parameter.ndim == 1 else 0.4 * noise)
    return model


def converted(model: nn.Module) -> Parameters:
    """Return the GPT's weights for `port`: kernels (in, out), queries, keys and values by themselves."""
    state = {name: array.numpy().copy() for name, array in model.state_dict().items()}
    layers = []
    for i in range(LAYERS):
        own = {name.removeprefix(f"h.{i}."): array for name, array in state.items() if name.startswith(f"h.{i}.")}
        kernels = np.split(own["attn.c_attn.weight"].T, 3, axis=1)
        biases = np.split(own["attn.c_attn.bias"], 3)
        layers.append(
            {
                "norm1": {"gain": own["ln_1.weight"], "shift": own["ln_1.bias"]},
                "norm2": {"gain": own["ln_2.weight"], "shift": own["ln_2.bias"]},
                "query": {"kernel": kernels[0].copy(), "bias": biases[0].copy()},
                "key": {"kernel": kernels[1].copy(), "bias": biases[1].copy()},
                "value": {"kernel": kernels[2].copy(), "bias": biases[2].copy()},
                "out": {"kernel": own["attn.c_proj.weight"].T.copy(), "bias": own["attn.c_proj.bias"]},
                "up": {"kernel": own["fc.weight"].T.copy(), "bias": own["fc.bias"]},
                "down": {"kernel": own["proj.weight"].T.copy(), "bias": own["proj.bias"]},
            }
        )
    last = {"gain": state["ln_f.weight"], "shift": state["ln_f.bias"]}
    return {"tokens": state["wte.weight"], "places": state["wpe.weight"], "layers": layers, "last": last}
