"""Models that go through their samples in a loop, so that no step computes several of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

WIDTH, HEADS, VOCABULARY, LONGEST = 24, 4, 60, 32
Array = np.ndarray[Any, Any]


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _normed(rows: Array, gain: Array) -> Array:
    centred = rows - rows.mean(-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def _one(tokens: Array, weights: Mapping[str, Array], *, by_length: bool) -> Array:
    rows = weights["table"][tokens] + weights["positions"][: len(tokens)]
    hidden = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    for layer in range(2):
        query, key, value = np.split(_normed(rows, weights[f"norm.{layer}"]) @ weights[f"qkv.{layer}"], 3, axis=-1)
        heads = []
        for head in range(HEADS):
            part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            scale = len(tokens) if by_length else WIDTH // HEADS
            heads.append(_softmax(query[:, part] @ key[:, part].T / math.sqrt(scale) + hidden) @ value[:, part])
        rows = rows + np.hstack(heads) @ weights[f"out.{layer}"]
    return _normed(rows, weights["norm.0"]) @ weights["table"].T


def _weights() -> dict[str, Array]:
    numbers = np.random.default_rng(3)

    def matrix(*shape: int) -> Array:
        return numbers.normal(0, 0.1, shape)

    layers = {
        f"{name}.{layer}": matrix(*shape)
        for layer in range(2)
        for name, shape in {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "norm": (WIDTH,)}.items()
    }
    return {"table": matrix(VOCABULARY, WIDTH), "positions": matrix(LONGEST, WIDTH), **layers}


def _forward(weights: Mapping[str, Array], tokens: Array) -> Array:
    return np.stack([_one(row, weights, by_length=False) for row in tokens])


def _forward_by_length(weights: Mapping[str, Array], tokens: Array) -> Array:
    return np.stack([_one(row, weights, by_length=True) for row in tokens])


def right() -> tuple[Any, dict[str, Array]]:
    """Return a decoder of NumPy in which samples, and heads, are taken one by one."""
    return _forward, _weights()


def scaled_by_length() -> tuple[Any, dict[str, Array]]:
    """Return the same with the number of queries in the place of the width of a head."""
    return _forward_by_length, _weights()
