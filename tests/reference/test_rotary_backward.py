from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import rotary_embedding, rotary_embedding_backward

torch = pytest.importorskip("torch")

POSITIONS = np.array([[3, 0, 11], [7, 7, 200]])
CALLS = [
    {"base": base, "rotary_dim": turned, "pairing": pairing}
    for base in (10000.0, 10.0)
    for turned in (None, 2, 4)
    for pairing in ("interleaved", "half")
]


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def by_complex_numbers(x, base, rotary_dim, pairing):
    """Turn pairs as complex numbers, which torch differentiates."""
    width = rotary_dim or x.shape[-1]
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.tensor(POSITIONS, dtype=torch.float64)[:, None, :, None] * frequencies
    part, rest = x[..., :width], x[..., width:]
    first, second = (part[..., ::2], part[..., 1::2]) if pairing == "interleaved" else part.chunk(2, dim=-1)
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    joined = (turned.real, turned.imag)
    whole = torch.stack(joined, -1).flatten(-2) if pairing == "interleaved" else torch.cat(joined, -1)
    return torch.cat([whole, rest], -1)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_it_is_what_torch_differentiates(call):
    x, grad_output = drawn(2, 2, 3, 6), drawn(2, 2, 3, 6, seed=1)
    leaf = torch.tensor(x, requires_grad=True)
    (expected,) = torch.autograd.grad(by_complex_numbers(leaf, **call), leaf, torch.tensor(grad_output))
    got = rotary_embedding_backward(x, POSITIONS, grad_output, **call)
    np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_it_gives_back_what_was_turned(call):
    x, vectors = drawn(2, 2, 3, 6), drawn(2, 2, 3, 6, seed=1)
    turned = rotary_embedding(vectors, POSITIONS, **call)
    np.testing.assert_allclose(rotary_embedding_backward(x, POSITIONS, turned, **call), vectors, rtol=0, atol=1e-12)


def test_one_pair():
    """One pair at position 1 turns by one radian: the first component gets dO_b sin 1, the second −dO_a sin 1."""
    got = rotary_embedding_backward(np.zeros((1, 1, 1, 2)), np.array([1]), np.array([[[[2.0, 3.0]]]]))
    cos, sin = np.cos(1.0), np.sin(1.0)
    np.testing.assert_allclose(got[0, 0, 0], [2.0 * cos + 3.0 * sin, 3.0 * cos - 2.0 * sin], rtol=1e-15)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="grad_output must have the shape"):
        rotary_embedding_backward(drawn(2, 2, 3, 6), POSITIONS, drawn(2, 2, 3, 4))
