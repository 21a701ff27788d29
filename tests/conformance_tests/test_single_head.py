"""Attention of one head as a student writes it: what is right holds, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

EXERCISE = """
import jax.numpy as jnp
import jax

framework = "jax"

def single_head_attention(x, weights, *, mask=None):
    q, k, v = x @ weights.w_q, x @ weights.w_k, x @ weights.w_v
    logits = q @ k.mT / jnp.sqrt(k.shape[-1])
    if mask is not None:
        logits = jnp.where(mask, logits, -1e30)
    return jax.nn.softmax(logits, axis=-1) @ v
"""
WITHOUT_BATCH = """
import numpy as np

def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def single_head_attention(x, weights):
    out = []
    for sequence in x:
        q, k, v = sequence @ weights.w_q, sequence @ weights.w_k, sequence @ weights.w_v
        out.append(softmax(q @ k.T / q.shape[1] ** 0.5) @ v)
    return np.stack(out)
"""


def checked(folder: Path, source: str) -> tuple[dict[str, int], list[tuple[str, ...]]]:
    """Return the counts, and the mistakes that were named."""
    file = folder / "exercise.py"
    file.write_text(source)
    report = check(str(file), operations=("single_head_attention",), tier="quick")
    return report.counts, [suspect.mistakes for found in report.diagnoses for suspect in found.suspects]


@pytest.mark.long
def test_a_right_exercise_in_jax_holds(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    counts, _ = checked(tmp_path, EXERCISE)
    assert (counts["failed"], counts["errors"], counts["not_declared"]) == (0, 0, 0)


def test_an_exercise_without_a_mask_is_not_asked_for_one(tmp_path: Path) -> None:
    counts, _ = checked(tmp_path, WITHOUT_BATCH)
    assert (counts["failed"], counts["errors"]) == (0, 0)
    assert counts["passed"] > 12
    assert counts["not_declared"] == 5


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    [
        (" / q.shape[1] ** 0.5", "", "scale_missing"),
        ("q.shape[1] ** 0.5", "x.shape[-1] ** 0.5", "scale_by_d_model_not_head_dim"),
        ("@ v)", "@ k)", "value_uses_key_projection"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, right: str, wrong: str, mistake: str) -> None:
    assert right in WITHOUT_BATCH
    counts, named = checked(tmp_path, WITHOUT_BATCH.replace(right, wrong))
    assert counts["failed"] > 0
    assert named == [(mistake,)]
