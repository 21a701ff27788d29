from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import token_embedding, token_embedding_backward

torch = pytest.importorskip("torch")

TOKENS = np.array([[1, 1, 4], [0, 1, 4]])


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("scaled", [False, True])
def test_it_is_what_torch_differentiates(scaled):
    table, grad_output = drawn(6, 4), drawn(2, 3, 4, seed=1)
    leaf = torch.tensor(table, requires_grad=True)
    vectors = torch.nn.functional.embedding(torch.tensor(TOKENS), leaf) * (2.0 if scaled else 1.0)
    (expected,) = torch.autograd.grad(vectors, leaf, torch.tensor(grad_output))
    got = token_embedding_backward(TOKENS, table, grad_output, scale_by_sqrt_d_model=scaled)
    np.testing.assert_allclose(got, expected.numpy(), rtol=1e-15)


@pytest.mark.parametrize("scaled", [False, True])
def test_it_is_the_transpose_of_the_lookup(scaled):
    """⟨dO, f(W)⟩ = ⟨dW, W⟩, because the lookup is linear."""
    table, grad_output = drawn(6, 3), drawn(2, 3, 3, seed=1)
    vectors = token_embedding(TOKENS, table, scale_by_sqrt_d_model=scaled)
    gradient = token_embedding_backward(TOKENS, table, grad_output, scale_by_sqrt_d_model=scaled)
    assert np.sum(gradient * table) == pytest.approx(np.sum(grad_output * vectors), rel=1e-13)


def test_whole_numbers():
    got = token_embedding_backward(np.array([[2, 0], [2, 2]]), np.ones((4, 1)), np.array([[[1.0], [2]], [[4], [8]]]))
    np.testing.assert_array_equal(got, [[2.0], [0.0], [13.0], [0.0]])


@pytest.mark.usefixtures("shapes_unchecked")
def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="grad_output must have the shape"):
        token_embedding_backward(TOKENS, drawn(6, 4), drawn(2, 3, 5))
    with pytest.raises(ValueError, match="tokens must be numbers 0 to 3"):
        token_embedding_backward(TOKENS, drawn(4, 4), drawn(2, 3, 4))
