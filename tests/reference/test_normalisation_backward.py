"""Gradients of the norms: against exact numbers, automatic differentiation, and what a hand can compute."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import layer_norm_backward, rms_norm_backward

E = 5


def drawn(seed=0, offset=0.0, spread=1.0, shape=(2, 3, E)):
    generator = np.random.default_rng(seed)
    x, grad_output = generator.normal(size=shape) * spread + offset, generator.normal(size=shape)
    return x, generator.normal(size=shape[-1]), generator.normal(size=shape[-1]), grad_output


def exact_row(row, gamma, grad_output, eps, *, centring, placement):
    """Return dx and dO ŷ of one vector, from the Jacobian entry by entry, in fifty digits."""
    with mpmath.workdps(50):
        numbers, width = [mpmath.mpf(float(number)) for number in row], len(row)
        mean = sum(numbers) / width if centring else mpmath.mpf(0)
        centred = [number - mean for number in numbers]
        variance = sum(number**2 for number in centred) / width
        inside = placement == "inside_root"
        divisor = mpmath.sqrt(variance + eps) if inside else mpmath.sqrt(variance) + eps
        slope = centred[0] * 0 + (1 / divisor if inside else 1 / mpmath.sqrt(variance))

        def entry(i, k):
            of_centred = (1 if i == k else 0) - (mpmath.mpf(1) / width if centring else 0)
            return of_centred / divisor - centred[i] * centred[k] * slope / (width * divisor**2)

        upstream = [mpmath.mpf(float(g)) * mpmath.mpf(float(gain)) for g, gain in zip(grad_output, gamma, strict=True)]
        grad_x = [sum(upstream[i] * entry(i, k) for i in range(width)) for k in range(width)]
        grad_gain = [mpmath.mpf(float(g)) * number / divisor for g, number in zip(grad_output, centred, strict=True)]
        return [float(number) for number in grad_x], [float(number) for number in grad_gain]


@pytest.mark.parametrize("placement", ["inside_root", "outside_root"])
@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.1])
@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1.0), (5.0, 1e-2), (-3.0, 1e4)])
def test_layer_norm_backward_is_exact(placement, eps, offset, spread):
    x, gamma, beta, grad_output = drawn(offset=offset, spread=spread)
    grad_x, grad_gamma, grad_beta = layer_norm_backward(x, gamma, beta, grad_output, eps=eps, eps_placement=placement)
    rows = [
        exact_row(row, gamma, given, eps, centring=True, placement=placement)
        for row, given in zip(x.reshape(-1, E), grad_output.reshape(-1, E), strict=True)
    ]
    size = 1.0 + 1.0 / min(spread, 1.0)
    np.testing.assert_allclose(grad_x.reshape(-1, E), [row for row, _ in rows], rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(grad_gamma, np.sum([gain for _, gain in rows], axis=0), rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(grad_beta, np.sum(grad_output.reshape(-1, E), axis=0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gain", ["gamma", "one_plus_gamma"])
@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.1])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e4])
def test_rms_norm_backward_is_exact(gain, eps, spread):
    x, gamma, _, grad_output = drawn(1, spread=spread)
    grad_x, grad_gamma = rms_norm_backward(x, gamma, grad_output, eps=eps, gain=gain)
    factor = gamma if gain == "gamma" else 1.0 + gamma
    rows = [
        exact_row(row, factor, given, eps, centring=False, placement="inside_root")
        for row, given in zip(x.reshape(-1, E), grad_output.reshape(-1, E), strict=True)
    ]
    np.testing.assert_allclose(grad_x.reshape(-1, E), [row for row, _ in rows], rtol=1e-12, atol=1e-12 / spread)
    np.testing.assert_allclose(grad_gamma, np.sum([of_gain for _, of_gain in rows], axis=0), rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(E,), (3, E), (2, 3, E), (2, 1, 3, E)])
def test_torch_derives_the_same(shape):
    torch = pytest.importorskip("torch")
    arrays = drawn(2, offset=0.5, shape=shape)
    x, gamma, beta, grad_output = (torch.tensor(array, requires_grad=True) for array in arrays)
    output = torch.nn.functional.layer_norm(x, (E,), gamma, beta, 1e-3)
    found = torch.autograd.grad(output, (x, gamma, beta), grad_output)
    for one, other in zip(layer_norm_backward(*arrays, eps=1e-3), found, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=0, atol=1e-13)
    output = torch.nn.functional.rms_norm(x, (E,), gamma, 1e-3)
    found = torch.autograd.grad(output, (x, gamma), grad_output)
    for one, other in zip(rms_norm_backward(arrays[0], arrays[1], arrays[3], eps=1e-3), found, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=0, atol=1e-13)


def test_small_numbers_by_hand() -> None:
    """For x = (−1, 0, 1) and eps = 1/3 the variance is 2/3 and the divisor 1, so that ŷ = x."""
    x, ones = np.array([-1.0, 0.0, 1.0]), np.ones(3)
    grad_x, grad_gamma, grad_beta = layer_norm_backward(x, ones, ones, np.array([0.0, 0.0, 3.0]), eps=1 / 3)
    # The mean of (0, 0, 3) is 1, and so is the mean of its product with ŷ: (0, 0, 3) − 1 − ŷ.
    np.testing.assert_allclose(grad_x, [0.0, -1.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(grad_gamma, [0.0, 0.0, 3.0], atol=1e-15)
    np.testing.assert_array_equal(grad_beta, [0.0, 0.0, 3.0])
    grad_x, grad_gamma = rms_norm_backward(x, ones, np.array([0.0, 0.0, 3.0]), eps=1 / 3)
    np.testing.assert_allclose(grad_x, [1.0, 0.0, 2.0], atol=1e-15)
    np.testing.assert_allclose(grad_gamma, [0.0, 0.0, 3.0], atol=1e-15)


def test_a_vector_of_equal_components_has_the_centred_gradient_over_eps() -> None:
    x, ones, grad_output = np.full(3, 7.0), np.ones(3), np.array([1.0, 2.0, 6.0])
    for placement, divisor in (("inside_root", 0.5), ("outside_root", 0.25)):
        grad_x, grad_gamma, _ = layer_norm_backward(x, ones, ones, grad_output, eps=0.25, eps_placement=placement)
        np.testing.assert_array_equal(grad_x, (grad_output - 3.0) / divisor)
        np.testing.assert_array_equal(grad_gamma, np.zeros(3))


@pytest.mark.usefixtures("shapes_unchecked")
def test_wrong_arguments_are_refused() -> None:
    x, ones = np.ones((2, 3)), np.ones(3)
    with pytest.raises(ValueError, match="grad_output must have the shape"):
        layer_norm_backward(x, ones, ones, np.ones((2, 3, 1)), eps=0.1)
    with pytest.raises(ValueError, match="eps_placement must be one of"):
        layer_norm_backward(x, ones, ones, x, eps=0.1, eps_placement="nowhere")
    with pytest.raises(ValueError, match="gain must be one of"):
        rms_norm_backward(x, ones, x, eps=0.1, gain="none")
    with pytest.raises(ValueError, match="eps must be finite"):
        rms_norm_backward(x, ones, x, eps=-1.0)
