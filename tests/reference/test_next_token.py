from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import next_token_loss, next_token_loss_backward

torch = pytest.importorskip("torch")

TOKENS = np.array([[1, 3, 0, 2], [2, 2, 1, 3], [-100, 0, -100, 1]])


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def by_torch(logits, tokens, ignored):
    """Return the loss as Hugging Face's causal models compute it: the labels are padded at the end, and shifted."""
    labels = torch.nn.functional.pad(torch.tensor(tokens), (0, 1), value=ignored)[..., 1:]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=ignored)


@pytest.mark.parametrize("ignored", [-100, 1])
def test_it_is_that_of_torch_and_so_is_its_gradient(ignored):
    logits, tokens = drawn(3, 4, 4), np.where(TOKENS == -100, ignored, TOKENS)
    leaf = torch.tensor(logits, requires_grad=True)
    loss = by_torch(leaf, tokens, ignored)
    (expected,) = torch.autograd.grad(loss, leaf, torch.tensor(1.75, dtype=torch.float64))
    assert next_token_loss(logits, tokens, ignore_index=ignored) == pytest.approx(loss.item(), rel=1e-13)
    got = next_token_loss_backward(logits, tokens, np.array(1.75), ignore_index=ignored)
    np.testing.assert_allclose(got, expected.numpy(), rtol=1e-13, atol=1e-15)


def test_fractions():
    """Weights 1/6, 2/6 and 3/6 at the first token, whose next is the class of 2/6; the last logits do not matter."""
    logits = np.log([[[1.0, 2.0, 3.0], [7.0, 1.0, 1.0]]])
    assert next_token_loss(logits, np.array([[0, 1]])) == pytest.approx(np.log(3.0), rel=1e-15)
    got = next_token_loss_backward(logits, np.array([[0, 1]]), np.array(6.0))
    np.testing.assert_allclose(got, [[[1.0, -4.0, 3.0], [0.0, 0.0, 0.0]]], rtol=1e-14)


def test_an_ignored_first_token_counts_nowhere():
    logits = drawn(3, 4, 4)
    other = np.where(np.arange(4) == 0, -100, TOKENS)
    assert next_token_loss(logits, TOKENS) == next_token_loss(logits, other)


@pytest.mark.parametrize(
    ("shape", "tokens", "message"),
    [
        ((1, 1, 3), [[0]], "at least two tokens; got L = 1"),
        ((1, 2, 3), [[0, 3]], "targets must be classes 0 to 2; got 3"),
        ((1, 2, 3), [[0, -100]], "at least one target must be kept"),
    ],
)
def test_what_it_refuses(shape, tokens, message):
    with pytest.raises(ValueError, match=message):
        next_token_loss(np.zeros(shape), np.array(tokens))
    with pytest.raises(ValueError, match=message):
        next_token_loss_backward(np.zeros(shape), np.array(tokens), np.array(1.0))


def test_the_first_token_may_be_no_class():
    assert next_token_loss(np.zeros((1, 2, 4)), np.array([[-7, 1]])) == pytest.approx(np.log(4.0), rel=1e-15)
