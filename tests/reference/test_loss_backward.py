from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from veriformer.reference import cross_entropy, cross_entropy_backward

torch = pytest.importorskip("torch")

TARGETS = np.array([[1, 3, 0], [2, 2, 1]])
PADDED = np.array([[1, -100, 0], [-100, -100, 2]])
CALLS = [
    {"ignore_index": ignored, "label_smoothing": share, "reduction": reduction}
    for ignored, share, reduction in product((None, -100, 2), (0.0, 0.1, 1.0), ("mean", "sum", "none"))
]


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def given(call):
    targets = PADDED if call["ignore_index"] == -100 else TARGETS
    return drawn(2, 3, 4), targets, drawn(*((2, 3) if call["reduction"] == "none" else ()), seed=1)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_it_is_what_torch_differentiates(call):
    logits, targets, grad_output = given(call)
    leaf = torch.tensor(logits, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(
        leaf.transpose(1, 2),
        torch.tensor(targets),
        ignore_index=-1000 if call["ignore_index"] is None else call["ignore_index"],
        label_smoothing=call["label_smoothing"],
        reduction=call["reduction"],
    )
    (expected,) = torch.autograd.grad(loss, leaf, torch.tensor(grad_output))
    got = cross_entropy_backward(logits, targets, grad_output, **call)
    np.testing.assert_allclose(got, expected.numpy(), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_it_is_the_slope_of_the_loss(call):
    logits, targets, grad_output = given(call)
    direction, step = drawn(2, 3, 4, seed=2), 1e-6
    above, below = (cross_entropy(logits + by * direction, targets, **call) for by in (step, -step))
    slope = np.sum(grad_output * (above - below)) / (2.0 * step)
    gradient = cross_entropy_backward(logits, targets, grad_output, **call)
    assert np.sum(gradient * direction) == pytest.approx(slope, abs=1e-8)


def test_fractions():
    """Three classes with the weights 1/6, 2/6 and 3/6, of which the second is the target, and ε = 3/5."""
    logits = np.log([[[1.0, 2.0, 3.0]]])
    got = cross_entropy_backward(logits, np.array([[1]]), np.array(30.0), label_smoothing=0.6)
    # y = (1/5, 3/5, 1/5), and p − y = (−1/30, −8/30, 9/30).
    np.testing.assert_allclose(got, [[[-1.0, -8.0, 9.0]]], rtol=1e-14)


def test_no_target_is_kept():
    logits, targets = drawn(1, 2, 3), np.array([[5, 5]])
    for reduction, shape in (("sum", ()), ("none", (1, 2))):
        got = cross_entropy_backward(logits, targets, np.ones(shape), ignore_index=5, reduction=reduction)
        assert not got.any()
    with pytest.raises(ValueError, match="at least one target must be kept"):
        cross_entropy_backward(logits, targets, np.ones(()), ignore_index=5)


@pytest.mark.parametrize("garbage", [np.nan, np.inf])
def test_nothing_at_an_ignored_target_reaches_a_gradient(garbage):
    logits = drawn(2, 3, 4)
    spoiled = np.where((PADDED == -100)[..., None], garbage, logits)
    expected, got = (
        cross_entropy_backward(given, PADDED, np.ones(()), ignore_index=-100) for given in (logits, spoiled)
    )
    np.testing.assert_array_equal(got, expected)


def test_a_class_of_probability_zero():
    got = cross_entropy_backward(np.array([[[0.0, -np.inf, 0.0]]]), np.array([[0]]), np.ones(()))
    np.testing.assert_array_equal(got, [[[-0.5, 0.0, 0.5]]])


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(("reduction", "shape"), [("mean", (2, 3)), ("sum", (1,)), ("none", ())])
def test_a_gradient_of_another_shape_is_refused(reduction, shape):
    with pytest.raises(ValueError, match="grad_output must have the shape"):
        cross_entropy_backward(drawn(2, 3, 4), TARGETS, np.ones(shape), reduction=reduction)
