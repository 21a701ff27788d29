"""The backward pass of the reference against automatic differentiation, finite differences and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from veriformer import reference
from veriformer.reference import scaled_dot_product_attention, scaled_dot_product_attention_backward

CASES = (
    {},
    {"scale": 0.3},
    {"is_causal": True},
    {"is_causal": True, "causal_alignment": "bottom_right"},
    {"mask": "random"},
    {"mask": "random", "is_causal": True, "scale": 2.0},
)


def drawn(seed=0, batch=2, heads=3, queries=4, keys=5, width=3, value_width=2):
    generator = np.random.default_rng(seed)
    sizes = ((queries, width), (keys, width), (keys, value_width), (queries, value_width))
    return tuple(generator.normal(size=(batch, heads, *size)) for size in sizes)


def settings(case, seed=0):
    chosen = dict(case)
    if "mask" in chosen:
        mask = np.random.default_rng(seed).random((2, 3, 4, 5)) < 0.6
        mask[..., 0] = True
        chosen["mask"] = mask
    return chosen


def by_torch(arrays, *, mask=None, is_causal=False, scale=None, causal_alignment="top_left"):
    torch = pytest.importorskip("torch")
    query, key, value, grad_output = (torch.tensor(array, requires_grad=True) for array in arrays)
    logits = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    visible = torch.ones(logits.shape, dtype=torch.bool) if mask is None else torch.tensor(mask)
    if is_causal:
        later = key.shape[-2] - query.shape[-2] if causal_alignment == "bottom_right" else 0
        visible = visible.tril(diagonal=later)
    output = torch.softmax(logits.masked_fill(~visible, -torch.inf), dim=-1) @ value
    gradients = torch.autograd.grad(output, (query, key, value), grad_output.detach())
    return [gradient.numpy() for gradient in gradients]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_torch(case, seed):
    arrays, chosen = drawn(seed), settings(case, seed)
    found = scaled_dot_product_attention_backward(*arrays, **chosen)
    for gradient, expected in zip(found, by_torch(arrays, **chosen), strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_the_slopes_of_the_forward_pass(case):
    *inputs, grad_output = drawn()
    chosen, step = settings(case), 1e-5
    found = scaled_dot_product_attention_backward(*inputs, grad_output, **chosen)
    for array, gradient in zip(inputs, found, strict=True):
        for index in ((0, 0, 0, 0), (1, 2, 3, 1), (0, 1, 2, 1)):
            centre, losses = array[index], []
            for moved in (centre + step, centre - step):
                array[index] = moved
                losses.append(np.sum(grad_output * scaled_dot_product_attention(*inputs, **chosen)))
            array[index] = centre
            # Central differences err by step²/6 times the third derivative, below 100 here, and by rounding.
            assert abs((losses[0] - losses[1]) / (2 * step) - gradient[index]) < step**2 / 6 * 100 + 1e-10


def test_gradients_of_two_keys_to_fifty_digits():
    query, key, value, grad_output = drawn(3, batch=1, heads=1, queries=1, keys=2, width=1, value_width=1)
    point = tuple(map(float, np.concatenate([array.ravel() for array in (query, key, value)])))

    def loss(q, k, other_k, v, other_v):
        first, second = mpmath.exp(q * k), mpmath.exp(q * other_k)
        return grad_output.item() * (first * v + second * other_v) / (first + second)

    expected = [mpmath.diff(loss, point, tuple(int(i == j) for j in range(5))) for i in range(5)]
    found = np.concatenate(
        [part.ravel() for part in scaled_dot_product_attention_backward(query, key, value, grad_output)]
    )
    np.testing.assert_allclose(found, [float(number) for number in expected], rtol=1e-13)


def test_gradients_with_equal_logits_are_exact():
    """Three keys of weight 1/3 that the query is orthogonal to: dS = (dP − mean dP)/3 in whole numbers over nine."""
    query, key = np.array([[[[0.0, 2.0]]]]), np.array([[[[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]]])
    value, grad_output = np.array([[[[1.0], [5.0], [3.0]]]]), np.array([[[[2.0]]]])
    grad_logits = [(Fraction(2 * v) - 6) / 3 for v in (1, 5, 3)]
    grad_query, grad_key, grad_value = scaled_dot_product_attention_backward(query, key, value, grad_output, scale=1.0)
    expected = [float(sum(d * k for d, k in zip(grad_logits, (1, 2, 4), strict=True))), 0.0]
    np.testing.assert_allclose(grad_query[0, 0, 0], expected, atol=1e-15)
    np.testing.assert_allclose(grad_key[0, 0], [[0.0, float(2 * d)] for d in grad_logits], atol=1e-15)
    np.testing.assert_allclose(grad_value[0, 0], np.full((3, 1), 2 / 3), rtol=1e-15)


def test_a_query_that_sees_no_key_has_no_gradient_and_adds_to_none():
    query, key, value, grad_output = drawn()
    mask = np.ones((4, 5), dtype=bool)
    mask[2] = False
    found = scaled_dot_product_attention_backward(query, key, value, grad_output, mask=mask)
    rest = np.array([0, 1, 3])
    without = scaled_dot_product_attention_backward(query[:, :, rest], key, value, grad_output[:, :, rest])
    assert not found[0][:, :, 2].any()
    np.testing.assert_allclose(found[0][:, :, rest], without[0], atol=1e-15)
    np.testing.assert_allclose(found[1], without[1], atol=1e-15)
    np.testing.assert_allclose(found[2], without[2], atol=1e-15)


@pytest.mark.parametrize("content", (np.nan, np.inf, -np.inf))
def test_what_is_hidden_reaches_nothing(content):
    query, key, value, grad_output = drawn()
    mask = np.ones((4, 5), dtype=bool)
    mask[:, 3] = False
    clean = scaled_dot_product_attention_backward(query, key, value, grad_output, mask=mask)
    key[:, :, 3], value[:, :, 3] = content, content
    poisoned = scaled_dot_product_attention_backward(query, key, value, grad_output, mask=mask)
    for one, other in zip(clean, poisoned, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_gradient_of_the_logits_has_rows_that_sum_to_zero():
    query, key, value, grad_output = drawn()
    weights = reference.attention_weights(query, key)
    grad_weights = grad_output @ value.swapaxes(-1, -2)
    found = reference.gradient_of_logits(weights, np.ones(weights.shape, dtype=bool), grad_weights)
    np.testing.assert_allclose(found.sum(axis=-1), 0.0, atol=1e-15)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_gradient_of_another_shape_than_the_output_is_refused():
    query, key, value, grad_output = drawn()
    with pytest.raises(ValueError, match="grad_output must have shape"):
        scaled_dot_product_attention_backward(query, key, value, grad_output[..., :1])
