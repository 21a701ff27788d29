"""Vision models of one image (channels, height, width), as Equinox has them, and the pooling that is stated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from veriformer import check

jax = pytest.importorskip("jax")
eqx = pytest.importorskip("equinox")

WIDTH, HEADS, SIDE = 40, 5, 4


class Spec(NamedTuple):
    """What the model is built by."""

    pool: str = "cls"
    dim: int = WIDTH
    heads: int = HEADS


def _drawn(key: int, *shape: int) -> Any:
    return jax.numpy.asarray(np.random.default_rng(key).normal(size=shape) * shape[-1] ** -0.5)


class Vision(eqx.Module):
    """One layer of attention and the end of a classifier over the patches of one image."""

    patches: Any
    first: Any
    places: Any
    joined: Any
    out: Any
    head: Any
    spec: Spec = eqx.field(static=True)
    axis: int = eqx.field(static=True)
    read: str = eqx.field(static=True)

    def __init__(self, axis: int = -1, stated: str = "cls", read: str = "cls") -> None:
        self.patches, self.first = _drawn(0, 3 * SIDE**2, WIDTH), _drawn(1, 1, WIDTH)
        self.places, self.joined = _drawn(2, SIDE**2 + 1, WIDTH), 3.0 * _drawn(3, 3, WIDTH, WIDTH)
        self.out, self.head = _drawn(4, WIDTH, WIDTH), _drawn(5, WIDTH, 11)
        self.spec, self.axis, self.read = Spec(stated), axis, read

    def __call__(self, image: Any) -> Any:
        """Return the scores of the classes of one image."""
        rows = image.reshape(3, SIDE, SIDE, SIDE, SIDE).transpose(1, 3, 2, 4, 0).reshape(SIDE**2, -1)
        x = jax.numpy.concatenate([self.first, rows @ self.patches]) + self.places
        parts = jax.numpy.einsum("nd,sde->sne", x, self.joined)
        q, k, v = parts.reshape(3, len(x), HEADS, -1).swapaxes(1, 2)
        weights = jax.nn.softmax(q @ k.swapaxes(1, 2) / (WIDTH // HEADS) ** 0.5, axis=self.axis)
        x = x + (weights @ v).swapaxes(0, 1).reshape(len(x), -1) @ self.out
        return (x[0] if self.read == "cls" else x.mean(axis=0)) @ self.head


def test_one_image_is_read_and_its_laws_are_tried() -> None:
    report: Any = check(Vision())
    assert report.exit_status == 0
    words = {part.role: part.summary for part in report.recognition.parts}
    assert "5 heads" in words["multi_head_attention"]
    assert "of position 0" in words["unembedding"]
    assert "model.batch.independence" in {one.law.id for one in report.results if one.status == "passed"}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    (
        ({"axis": -2}, "the weights are normalised over the queries, and not over the keys"),
        ({"read": "mean"}, "the configuration says that spec.pool is cls, and what is read is the mean"),
    ),
    ids=("axis", "pooling"),
)
def test_mistakes_of_a_model_of_one_image_are_named(wrong: dict[str, Any], sentence: str) -> None:
    report: Any = check(Vision(**wrong))
    assert any(sentence in one.sentence for one in report.recognition.departures)


def test_the_pooling_that_is_stated_is_no_departure() -> None:
    report: Any = check(Vision(stated="mean", read="mean"))
    assert report.exit_status == 0
