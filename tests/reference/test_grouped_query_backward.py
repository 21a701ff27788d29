"""The backward pass of grouped attention against automatic differentiation and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from veriformer import reference

GROUPS = (1, 2, 3, 6)
CASES = ({}, {"scale": 0.3}, {"is_causal": True}, {"mask": "random", "is_causal": True, "scale": 2.0})


def drawn(groups, seed=0, heads=6, queries=4, keys=5):
    generator = np.random.default_rng(seed)
    sizes = ((heads, queries, 3), (groups, keys, 3), (groups, keys, 2), (heads, queries, 2))
    return tuple(generator.normal(size=(2, *size)) for size in sizes)


def by_torch(arrays, *, mask=None, is_causal=False, scale=None):
    """Each query head on its own, with the key/value head that it reads taken by its number."""
    torch = pytest.importorskip("torch")
    query, key, value, grad_output = (torch.tensor(array, requires_grad=True) for array in arrays)
    factor, size = query.shape[-1] ** -0.5 if scale is None else scale, query.shape[1] // key.shape[1]
    loss = torch.zeros(())
    for head in range(query.shape[1]):
        logits = factor * query[:, head] @ key[:, head // size].mT
        visible = torch.ones(logits.shape, dtype=torch.bool) if mask is None else torch.tensor(mask[:, head])
        visible = visible.tril() if is_causal else visible
        output = logits.masked_fill(~visible, -torch.inf).softmax(-1) @ value[:, head // size]
        loss = loss + (output * grad_output[:, head].detach()).sum()
    return [gradient.numpy() for gradient in torch.autograd.grad(loss, (query, key, value))]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("groups", GROUPS)
def test_gradients_are_those_of_torch(groups, case):
    arrays, chosen = drawn(groups), dict(case)
    if "mask" in chosen:
        chosen["mask"] = np.random.default_rng(1).random((2, 6, 4, 5)) < 0.6
        chosen["mask"][..., 0] = True
    found = reference.grouped_query_attention_backward(*arrays, **chosen)
    for gradient, expected in zip(found, by_torch(arrays, **chosen), strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-13)


def test_three_heads_that_share_two_keys_of_equal_weight_are_exact():
    """Queries of zero see two keys alike: dV is half of the sum of dO, and dS is ±dO (v − v′)/4."""
    query, grad_output = np.zeros((1, 3, 1, 1)), np.array([1.0, 2.0, 5.0]).reshape(1, 3, 1, 1)
    key, value = np.array([3.0, 4.0]).reshape(1, 1, 2, 1), np.array([6.0, 2.0]).reshape(1, 1, 2, 1)
    found = reference.grouped_query_attention_backward(query, key, value, grad_output, scale=1.0)
    grad_logits = [Fraction(int(grad)) * (6 - 2) / 4 for grad in (1, 2, 5)]
    assert found[0].ravel().tolist() == [float(grad * (3 - 4)) for grad in grad_logits]
    assert found[1].ravel().tolist() == [0.0, 0.0]
    assert found[2].ravel().tolist() == [4.0, 4.0]


def test_with_a_head_each_it_is_attention():
    arrays = drawn(6)
    pairs = zip(
        reference.grouped_query_attention_backward(*arrays, is_causal=True),
        reference.scaled_dot_product_attention_backward(*arrays, is_causal=True),
        strict=True,
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("shapes_unchecked")
def test_heads_that_cannot_be_shared_out_are_refused():
    query, key, value, grad_output = drawn(2)
    with pytest.raises(ValueError, match="must be a multiple of G"):
        reference.grouped_query_attention_backward(query[:, :5], key, value, grad_output[:, :5])
