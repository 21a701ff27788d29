"""Models whose kinds were accused or not read without need in a fourteenth set of strangers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from veriformer import check

# A configuration that a part of an object keeps, and the object does not.
KEPT_BY_A_PART = """
import dataclasses

import numpy as np


@dataclasses.dataclass
class Settings:
    vocab_size: int = 30
    width: int = 16
    tie_word_embeddings: bool = True
    num_hidden_layers: int = 1


class Network:
    def __init__(self, cfg, numbers):
        self.cfg = cfg
        self.up, self.down = numbers.normal(size=(cfg.width, 40)) * 0.3, numbers.normal(size=(40, cfg.width)) * 0.3

    def __call__(self, x):
        return np.maximum(x @ self.up, 0) @ self.down


class Model:
    def __init__(self, cfg):
        numbers = np.random.default_rng(0)
        self.table = numbers.normal(size=(cfg.vocab_size, cfg.width))
        self.networks = [Network(cfg, numbers)]

    def forward(self, tokens):
        x = self.table[tokens]
        for network in self.networks:
            x = x + network(x)
        return x @ self.table.T


def build():
    return Model(Settings())
"""
# Dropout keeps a seed, which is neither a quantised weight nor left out of anything.
KERAS_ON_TORCH = """
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
from keras import layers


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.drop = layers.Dense(20, activation="relu"), layers.Dense(8), layers.Dropout(0.1)

    def call(self, x, training=False):
        return x + self.drop(self.down(self.up(x)), training=training)


def build():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5, 8))
    return keras.Model(inputs, Block()(inputs))


def inputs():
    return keras.random.normal((2, 5, 8), seed=1)
"""


TABLE = "        self.table = numbers.normal(size=(cfg.vocab_size, cfg.width))\n"
HEAD = "        self.head = numbers.normal(size=(cfg.width, cfg.vocab_size))\n"


def judged(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "mine.py"
    file.write_text(text)
    return check(f"{file}:build", isolate=True)


def test_a_configuration_that_a_part_keeps_is_a_witness(tmp_path: Path) -> None:
    assert not judged(tmp_path, KEPT_BY_A_PART).departures
    untied = judged(tmp_path, KEPT_BY_A_PART.replace("x @ self.table.T", "x @ self.head").replace(TABLE, TABLE + HEAD))
    assert any("tie_word_embeddings" in one.sentence for one in untied.departures)


class Windowed(torch.nn.Module):
    """Two layers, of which the first has a window that the configuration states."""

    def __init__(self, keys: int) -> None:
        super().__init__()
        self.config = {"sliding_window": 4, "num_attention_heads": 4, "hidden_size": 24}
        self.table, self.head = torch.nn.Embedding(30, 24), torch.nn.Linear(24, 30)
        self.maps = torch.nn.ModuleList(torch.nn.Linear(24, 72) for _ in range(2))
        self.outs = torch.nn.ModuleList(torch.nn.Linear(24, 24) for _ in range(2))
        self._keys = keys

    def forward(self, tokens: Any) -> Any:
        x, place = self.table(tokens), torch.arange(tokens.shape[1])
        distance = place[:, None] - place
        for seen, made, out in zip((self._keys, 1000), self.maps, self.outs, strict=True):
            q, k, v = (one.view(*x.shape[:2], 4, -1).transpose(1, 2) for one in made(x).chunk(3, -1))
            mask = (distance >= 0) & (distance < seen)
            attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + out(attended.transpose(1, 2).flatten(2))
        return self.head(x)


@pytest.mark.parametrize(("keys", "sense"), [(4, "the query's own key among them"), (5, "besides the query's own key")])
def test_a_stated_window_of_some_layers_is_compared(keys: int, sense: str) -> None:
    report: Any = check(Windowed(keys))
    assert f"config.sliding_window 4 ({sense})" in report.recognition.agreed
    assert any("sliding_window is 4" in one.sentence for one in check(Windowed(7)).departures)


class InSingle(torch.nn.Module):
    """A norm that computes in float32 whatever it is given, and multiplies by its gain afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(24))

    def forward(self, x: Any) -> Any:
        h = x.float()
        return self.weight * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def test_a_norm_in_single_precision_is_differentiated_in_it() -> None:
    report: Any = check(InSingle(), inputs=(torch.randn(5, 11, 24),))
    assert report.exit_status == 0
    assert any(one.law.id == "model.gradients.value" and one.status == "passed" for one in report.results)


@pytest.mark.long
def test_a_state_of_a_seed_is_no_weight(tmp_path: Path) -> None:
    report = judged(tmp_path, KERAS_ON_TORCH)
    assert not report.departures and not report.recognition.unused
