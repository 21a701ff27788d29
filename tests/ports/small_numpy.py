"""The small GPT in NumPy, or in another library with its functions, with the mistakes that a port can have.

It imports no other framework: by its imports a function with its parameters is told to be one of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Parameters = dict[str, Any]
WIDTH, HEADS = 12, 3


def port(
    xp: ModuleType = np,
    *,
    eps: float = 1e-5,
    gelu: Callable[[Any], Any] | None = None,
    scale: float = 1.0,
    offset: int = 0,
    sees: int = 0,
) -> Callable[..., Any]:
    """Return the GPT as a function of parameters and tokens, in NumPy or JAX; the rest are the mistakes."""

    def norm(p: Parameters, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / xp.sqrt((centred**2).mean(-1, keepdims=True) + eps) * p["gain"] + p["shift"]

    def linear(p: Parameters, x: Any) -> Any:
        return x @ p["kernel"] + p["bias"]

    def attend(p: Parameters, x: Any) -> Any:
        b, length, _ = x.shape
        q, k, v = (linear(p[name], x).reshape(b, length, HEADS, -1) for name in ("query", "key", "value"))
        logits = xp.einsum("blhd,bshd->bhls", q, k) * (scale / math.sqrt(WIDTH // HEADS))
        logits = xp.where(xp.tril(xp.ones((length, length), dtype=bool), sees), logits, -xp.inf)
        weights = xp.exp(logits - logits.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        return linear(p["out"], xp.einsum("bhls,bshd->blhd", weights, v).reshape(b, length, WIDTH))

    def forward(parameters: Parameters, tokens: Any) -> Any:
        x = parameters["tokens"][tokens] + parameters["places"][offset : offset + tokens.shape[1]]
        for p in parameters["layers"]:
            x = x + attend(p, norm(p["norm1"], x))
            hidden = linear(p["up"], norm(p["norm2"], x))
            x = x + linear(p["down"], _tanh_gelu(xp, hidden) if gelu is None else gelu(hidden))
        return norm(parameters["last"], x) @ parameters["tokens"].T

    return forward


def _tanh_gelu(xp: ModuleType, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
