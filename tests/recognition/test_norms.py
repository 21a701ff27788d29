"""Norms are told from vectors before and after: which norm, where eps stands, which vectors are its gain and shift."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests.recognition.agreement import DOUBLE, SINGLE, unit_of
from veriformer.conformance_tests.recognition.norms import FoundNorm, norm_of

WIDTH = 17
# An eps is only to be seen beside squares that are not much larger.
SIZES = np.geomspace(0.02, 3.0, 13)[:, None]


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return SIZES * (np.random.default_rng(0).normal(size=(13, WIDTH)) + 0.3)


@pytest.fixture(scope="module")
def vectors() -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [1.0 + 0.3 * generator.normal(size=WIDTH), 0.3 * generator.normal(size=WIDTH)]


@pytest.mark.parametrize("eps", (1e-5, 1e-6, 1e-12, 3e-4, 0.0))
@pytest.mark.parametrize("placement", ("inside_root", "outside_root"))
def test_layer_norm_with_gain_and_shift(x: np.ndarray, vectors: list[np.ndarray], eps: float, placement: str) -> None:
    y = reference.layer_norm(x, *vectors, eps=eps, eps_placement=placement)
    found = norm_of(x, y, vectors, DOUBLE)
    assert found is not None
    assert (found.kind, found.gain, found.shift) == ("layer_norm", 0, 1)
    assert found.eps == pytest.approx(eps, rel=1e-6, abs=1e-13)
    if eps > 1e-10:
        assert found.placement == placement


@pytest.mark.parametrize("eps", (1e-5, 1e-6, 2.0**-23))
def test_rms_norm(x: np.ndarray, vectors: list[np.ndarray], eps: float) -> None:
    found = norm_of(x, reference.rms_norm(x, vectors[0], eps=eps), vectors, DOUBLE)
    assert found == FoundNorm("rms_norm", eps, "inside_root", 0, None)


def test_gain_and_shift_are_found_in_whatever_order_they_come(x: np.ndarray, vectors: list[np.ndarray]) -> None:
    y = reference.layer_norm(x, *vectors, eps=1e-5)
    assert norm_of(x, y, vectors[::-1], DOUBLE) == FoundNorm("layer_norm", 1e-5, "inside_root", 1, 0)


def test_gain_that_is_one_more_than_its_parameter(x: np.ndarray, vectors: list[np.ndarray]) -> None:
    stored = vectors[1]
    y = reference.rms_norm(x, stored, eps=1e-6, gain="one_plus_gamma")
    assert norm_of(x, y, [stored], DOUBLE) is None
    assert norm_of(x, y, [stored, 1.0 + stored], DOUBLE) == FoundNorm("rms_norm", 1e-6, "inside_root", 1, None)


@pytest.mark.parametrize("kind", ("layer_norm", "rms_norm"))
def test_norm_without_gain(x: np.ndarray, vectors: list[np.ndarray], kind: str) -> None:
    ones, zeros = np.ones(WIDTH), np.zeros(WIDTH)
    y = reference.rms_norm(x, ones, eps=1e-6) if kind == "rms_norm" else reference.layer_norm(x, ones, zeros, eps=1e-6)
    assert norm_of(x, y, vectors, DOUBLE) == FoundNorm(kind, 1e-6, "inside_root", None, None)


def test_norm_with_shift_alone(x: np.ndarray, vectors: list[np.ndarray]) -> None:
    y = reference.layer_norm(x, np.ones(WIDTH), vectors[1], eps=1e-5)
    assert norm_of(x, y, vectors[1:], DOUBLE) == FoundNorm("layer_norm", 1e-5, "inside_root", None, 0)


@pytest.mark.parametrize(("size", "eps"), ((1.0, None), (1e-2, 1e-5)))
def test_float32_hides_an_eps_that_is_small_beside_the_squares(
    vectors: list[np.ndarray], size: float, eps: float | None
) -> None:
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(2)
    x = size * torch.randn(13, WIDTH, generator=generator)
    gain, shift = (torch.as_tensor(one, dtype=torch.float32) for one in vectors)
    y = torch.nn.functional.layer_norm(x, (WIDTH,), gain, shift, 1e-5).double().numpy()
    unit = unit_of(x.double().numpy(), y)
    assert unit == SINGLE
    found = norm_of(x.double().numpy(), y, [gain.double().numpy(), shift.double().numpy()], unit)
    assert found == FoundNorm("layer_norm", eps, "inside_root", 0, 1)


def wrong(x: np.ndarray, vectors: list[np.ndarray]) -> dict[str, np.ndarray]:
    gain, shift = vectors
    right = reference.layer_norm(x, gain, shift, eps=1e-5)
    bent = right.copy()
    bent[4, 3] *= 1.001
    return {
        "one entry is off": bent,
        "the gain is of another norm": reference.layer_norm(x, gain[::-1].copy(), shift, eps=1e-5),
        "divided by the variance": gain * (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) + shift,
        "n - 1 in the denominator": (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5),
        "over the other axis": (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5),
        "divided by the largest entry": x / np.abs(x).max(-1, keepdims=True),
        "by a map": x @ np.random.default_rng(3).normal(size=(WIDTH, WIDTH)),
        "unchanged": x,
        "not finite": np.where(x == x.max(), np.nan, right),
    }


@pytest.mark.parametrize(
    "which",
    (
        "one entry is off",
        "the gain is of another norm",
        "divided by the variance",
        "n - 1 in the denominator",
        "over the other axis",
        "divided by the largest entry",
        "by a map",
        "unchanged",
        "not finite",
    ),
)
def test_what_is_no_norm(x: np.ndarray, vectors: list[np.ndarray], which: str) -> None:
    assert norm_of(x, wrong(x, vectors)[which], vectors, DOUBLE) is None


def test_shapes_that_differ_or_have_one_component_are_no_norm(x: np.ndarray) -> None:
    assert norm_of(x, x[:, :-1], [], DOUBLE) is None
    assert norm_of(x[:, :1], np.sign(x[:, :1]), [], DOUBLE) is None


def test_a_factor_of_vectors_of_similar_sizes_is_no_eps_in_low_precision(x: np.ndarray) -> None:
    rows = x / np.linalg.norm(x, axis=-1, keepdims=True) * np.geomspace(3.9, 4.4, len(x))[:, None]
    unit = 2.0**-11
    right = reference.rms_norm(rows, np.ones(WIDTH), eps=1e-6)
    assert norm_of(rows, right / 1.1, [], unit) is None
    as_it_is = norm_of(rows, right, [], unit)
    assert as_it_is is not None
    assert as_it_is.eps is None
    large = reference.rms_norm(x, np.ones(WIDTH), eps=1.226)
    found = norm_of(x, large, [], DOUBLE)
    assert found is not None
    assert found.eps == pytest.approx(1.226)


@pytest.mark.parametrize("small", (1e-3, 1e-6))
def test_a_gain_near_zero_hides_no_norm(x: np.ndarray, vectors: list[np.ndarray], small: float) -> None:
    gain, shift = vectors[0].copy(), vectors[1]
    gain[3] = small
    y = reference.layer_norm(x, gain, shift, eps=1e-6)
    # x · s + (β − mean · s), as Keras has it, rounds otherwise.
    scale = gain / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6)
    for one in (y, x * scale + (shift - x.mean(axis=-1, keepdims=True) * scale)):
        assert norm_of(x, one, [gain, shift], DOUBLE) == FoundNorm("layer_norm", 1e-6, "inside_root", 0, 1)
