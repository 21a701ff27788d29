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
