"""Clipping by the norm of all gradients, against fractions, torch and optax."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from veriformer.reference import clip_by_global_norm

SHAPES = ((3, 4), (4,), (1,), (2, 1, 3), ())


def drawn(scale=1.0, seed=0):
    generator = np.random.default_rng(seed)
    return [np.asarray(scale * generator.normal(size=shape)) for shape in SHAPES]


def norm_of(arrays):
    return math.sqrt(math.fsum(float(entry) ** 2 for array in arrays for entry in np.ravel(array)))


@pytest.mark.parametrize("bound", [Fraction(1), Fraction(1, 4), Fraction(9, 2), Fraction(5), Fraction(100)])
def test_fractions(bound):
    """The norm of 3 and 4 is 5."""
    factor = min(Fraction(1), bound / 5)
    got = clip_by_global_norm([np.array([3.0]), np.array([[-4.0]])], max_norm=float(bound))
    assert [array.shape for array in got] == [(1,), (1, 1)]
    np.testing.assert_allclose([got[0][0], got[1][0, 0]], [float(3 * factor), float(-4 * factor)], rtol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e3])
@pytest.mark.parametrize("bound", [1.0, 1e-7, 20.0, 1e5])
def test_torch_adds_to_the_norm(scale, bound):
    torch = pytest.importorskip("torch")
    gradients = drawn(scale)
    parameters = [torch.nn.Parameter(torch.zeros(array.shape, dtype=torch.float64)) for array in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_(parameters, bound)
    got = clip_by_global_norm(gradients, max_norm=bound, norm_eps="1e-6")
    for array, parameter in zip(got, parameters, strict=True):
        np.testing.assert_allclose(array, parameter.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e3])
@pytest.mark.parametrize("bound", [1.0, 1e-7, 20.0, 1e5])
def test_optax_adds_nothing(scale, bound):
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    gradients = [np.asarray(array, dtype=np.float32) for array in drawn(scale)]
    clipping = optax.clip_by_global_norm(bound)
    expected, _ = clipping.update([jax.numpy.asarray(array) for array in gradients], clipping.init(gradients))
    got = clip_by_global_norm(gradients, max_norm=bound)
    for array, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(array, np.asarray(other), rtol=1e-5)


def test_the_norm_is_the_bound_beyond_it_and_nothing_changes_within():
    gradients = drawn()
    norm = norm_of(gradients)
    assert norm_of(clip_by_global_norm(gradients, max_norm=0.1 * norm)) == pytest.approx(0.1 * norm, rel=1e-14)
    for array, given in zip(clip_by_global_norm(gradients, max_norm=1.001 * norm), gradients, strict=True):
        np.testing.assert_array_equal(array, given)


@pytest.mark.parametrize("norm_eps", ["none", "1e-6"])
def test_zeros_stay_zeros(norm_eps):
    (got,) = clip_by_global_norm([np.zeros((2, 3))], max_norm=1.0, norm_eps=norm_eps)
    np.testing.assert_array_equal(got, np.zeros((2, 3)))


def test_arguments_stay_as_they_are():
    gradients = drawn()
    before = [array.copy() for array in gradients]
    clip_by_global_norm(gradients, max_norm=0.1)
    for array, copy in zip(gradients, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("gradients", "keywords", "message"),
    [
        ([], {"max_norm": 1.0}, "gradients must hold at least one array; got none; pass one for each parameter"),
        ([np.ones(2)], {"max_norm": 0.0}, "max_norm must be positive; got 0.0; pass a bound such as 1.0"),
        ([np.ones(2)], {"max_norm": -1.0}, "max_norm must be positive; got -1.0"),
        ([np.ones(2)], {"max_norm": math.nan}, "max_norm must be positive; got nan"),
    ],
)
def test_errors_say_what_to_do(gradients, keywords, message):
    with pytest.raises(ValueError, match=message):
        clip_by_global_norm(gradients, **keywords)
