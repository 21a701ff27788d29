"""Ports of models that read images: patches, class token and pooling, in whatever order a model takes the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from veriformer.conformance_tests.ports.compare_models import compare_models

PATCH, WIDTH, HEADS, CHANNELS, SIDE = 2, 12, 3, 3, 8
COUNT = (SIDE // PATCH) ** 2


class Vision(nn.Module):
    """One layer over patches that a convolution projects, and a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(CHANNELS, WIDTH, PATCH, PATCH)
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(torch.zeros(1, COUNT + 1, WIDTH))
        self.norm, self.last = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 5)

    def cut(self, images: torch.Tensor) -> torch.Tensor:
        return self.patches(images).flatten(2).transpose(1, 2)

    def joined(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)

    def pooled(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, 0]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.joined(self.cut(images)) + self.places
        b, n, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, WIDTH))
        return self.head(self.pooled(self.last(x)))


class Reshaped(Vision):
    """The same with patches that are cut by reshaping, the channels innermost."""

    order = (0, 2, 4, 3, 5, 1)

    def cut(self, images: torch.Tensor) -> torch.Tensor:
        grid = images.reshape(len(images), CHANNELS, SIDE // PATCH, PATCH, SIDE // PATCH, PATCH)
        flat = grid.permute(*self.order).reshape(len(images), COUNT, -1)
        return flat @ self.patches.weight.permute(2, 3, 1, 0).reshape(-1, WIDTH) + self.patches.bias


class ChannelsOutermost(Reshaped):
    order = (0, 2, 4, 1, 3, 5)


class ColumnByColumn(Reshaped):
    order = (0, 4, 2, 3, 5, 1)


class TokenBehind(Vision):
    def joined(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.token.expand(len(x), -1, -1)], dim=1)


class Mean(Vision):
    def pooled(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=1)


class MeanOfPatches(Vision):
    def pooled(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, 1:].mean(dim=1)


class Last(Vision):
    def pooled(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, -1]


def _with_weights(build: Callable[[], Vision], seed: int = 0) -> Vision:
    model = build()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return model


@pytest.fixture
def images() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Two images."""
    return np.random.default_rng(3).normal(size=(2, CHANNELS, SIDE, SIDE)).astype(np.float32)


@pytest.mark.parametrize("build", [Vision, Reshaped])
@pytest.mark.parametrize("seed", range(2))
def test_ways_to_cut_patches_agree(build: Callable[[], Vision], seed: int, images: Any) -> None:
    found = compare_models(_with_weights(Vision, seed), _with_weights(build, seed), images)
    assert found.verdict == "agree"
    assert not found.differences and not found.inside


_OTHERWISE = [
    (ChannelsOutermost, "axes permuted", "embedding"),
    (ColumnByColumn, "patch order", "embedding"),
    (TokenBehind, "class token", "embedding"),
    (Mean, "pooling", "unembedding"),
    (MeanOfPatches, "pooling", "unembedding"),
    (Last, "pooling", "unembedding"),
]


@pytest.mark.parametrize(("build", "name", "step"), _OTHERWISE)
def test_what_is_done_otherwise_is_named(build: Callable[[], Vision], name: str, step: str, images: Any) -> None:
    found = compare_models(_with_weights(Vision), _with_weights(build), images)
    assert found.verdict == "differ"
    first = found.differences[0]
    assert (first.cause.name, first.step) == (name, step)


def test_a_class_token_that_was_not_loaded(images: Any) -> None:
    port = _with_weights(Vision)
    with torch.no_grad():
        port.token.zero_()
    found = compare_models(_with_weights(Vision), port, images)
    assert [(one.cause.name, one.path_b) for one in found.differences] == [("constant", "token")]
