"""A rotation is called for all samples at once where it takes the positions of each, and else for one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]

# What they are called with is kept: the number of samples of each call.
TABLES = """
import torch

def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)

def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    apply_rotary_pos_emb.samples.append(len(q))
    cos, sin = cos[position_ids]{heads}, sin[position_ids]{heads}
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

apply_rotary_pos_emb.samples = []
"""
OF_EACH, OF_ALL = TABLES.format(heads=".unsqueeze(1)"), TABLES.format(heads="")
IN_JAX = """
import jax.numpy as jnp

def apply_rope(x, positions, base=10000.0):
    apply_rope.samples.append(len(x))
    half = x.shape[-1] // 2
    angles = {positions}[:, None] * base ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate((a * cos - b * sin, a * sin + b * cos), -1)

apply_rope.samples = []
"""
MAPPED, NOT_MAPPED = IN_JAX.format(positions="positions"), IN_JAX.format(positions="jnp.array(positions.tolist())")

X = np.random.default_rng(0).normal(size=(3, 2, 5, 8)).astype(np.float32)
POSITIONS = np.arange(5) + np.array([[0], [4], [1]])


def turned(found: Implementation, x: np.ndarray, positions: np.ndarray) -> tuple[list[int], Any]:
    """Return the samples of each call that a rotation takes, and what it gives."""
    rotate: Any = found.operations["rotary_embedding"]
    rotate.samples.clear()
    of = found.framework
    result = of.to_numpy(rotate(of.from_numpy(x, "float32"), of.from_numpy(positions)))
    return list(rotate.samples), result


@pytest.mark.parametrize(
    ("framework", "text", "calls"),
    [
        pytest.param("torch", OF_EACH, [3], id="torch, all at once"),
        pytest.param("torch", OF_ALL, [1, 1, 1], id="torch, one by one"),
        pytest.param("jax", MAPPED, [1], id="jax, mapped"),
        pytest.param("jax", NOT_MAPPED, [1, 1, 1, 1], id="jax, tried and one by one"),
    ],
)
def test_samples_are_turned_each_by_its_own_positions(
    loaded: Loaded, framework: str, text: str, calls: list[int]
) -> None:
    pytest.importorskip(framework)
    found = loaded(text)
    samples, result = turned(found, X, POSITIONS)
    assert samples == calls
    expected = reference.rotary_embedding(X, POSITIONS, pairing="half")
    np.testing.assert_allclose(result, expected, atol=1e-5)


@pytest.mark.parametrize(("framework", "text"), [("torch", OF_EACH), ("torch", OF_ALL), ("jax", MAPPED)])
def test_positions_of_all_samples_alike_take_one_call(loaded: Loaded, framework: str, text: str) -> None:
    pytest.importorskip(framework)
    samples, result = turned(loaded(text), X, POSITIONS[1])
    assert samples == [3]
    np.testing.assert_allclose(result, reference.rotary_embedding(X, POSITIONS[1], pairing="half"), atol=1e-5)


@pytest.mark.parametrize("text", [OF_EACH, OF_ALL])
def test_a_right_one_holds_and_a_late_one_does_not(loaded: Loaded, text: str) -> None:
    pytest.importorskip("torch")
    laws = ["rotary.norm", "rotary.positions.*"]
    right, wrong = loaded(text), loaded(text.replace("sin[position_ids]", "sin[position_ids - 1]"))
    assert "`position_ids`: (B, L), places in them" in right.notices[0]
    report = check(right, laws=laws, tier="quick", diagnosis=False)
    assert report.counts["passed"] == 3 and report.verdict == "conforms"
    assert check(wrong, laws=laws, tier="quick", diagnosis=False, fail_fast=True).verdict == "violates"
