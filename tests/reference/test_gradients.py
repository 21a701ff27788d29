"""The reference against torch in double precision: its values, and its slopes against automatic differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    feed_forward,
    gated_feed_forward,
    gelu,
    grouped_query_attention,
    layer_norm,
    multi_head_attention,
    rms_norm,
    scaled_dot_product_attention,
    silu,
    softmax,
)

torch = pytest.importorskip("torch")

STEP = 1e-5
# Central differences err by STEP²/6 times the third derivative (below 50 here) and by u |f| / STEP (|f| below 100).
SLOPE_TOLERANCE = STEP**2 / 6 * 50 + 2.0**-53 * 100 / STEP


def slopes(function, arrays, direction):
    """Derivative of Σ direction · function(*arrays) by every entry of every array, by central differences."""
    gradients = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            centre = array[index]
            array[index] = centre + STEP
            above = np.sum(direction * function(*arrays))
            array[index] = centre - STEP
            below = np.sum(direction * function(*arrays))
            array[index] = centre
            gradient[index] = (above - below) / (2 * STEP)
        gradients.append(gradient)
    return gradients


def compare(reference, formula, arrays, seed=0):
    """Check values and slopes of `reference` on arrays against `formula` on tensors."""
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    output = formula(*tensors)
    direction = np.random.default_rng(seed).normal(size=tuple(output.shape))
    np.testing.assert_allclose(reference(*arrays), output.detach().numpy(), rtol=1e-12, atol=1e-13)
    expected = torch.autograd.grad((output * torch.tensor(direction)).sum(), tensors)
    for slope, gradient in zip(slopes(reference, arrays, direction), expected, strict=True):
        np.testing.assert_allclose(slope, gradient.numpy(), rtol=0, atol=SLOPE_TOLERANCE)


def plain_attention(query, key, value, visible, bias=0.0):
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + bias
    return torch.softmax(logits.masked_fill(~torch.tensor(visible), -torch.inf), dim=-1) @ value


def drawn(*shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


def test_attention():
    mask = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
    visible = mask & np.tril(np.ones((3, 4), dtype=bool))
    compare(
        lambda q, k, v, bias: scaled_dot_product_attention(q, k, v, mask=mask, bias=bias, is_causal=True),
        lambda q, k, v, bias: plain_attention(q, k, v, visible, bias),
        drawn((1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3), (3, 4)),
    )


def test_grouped_query():
    visible = np.tril(np.ones((2, 4), dtype=bool), 2)
    compare(
        lambda q, k, v: grouped_query_attention(q, k, v, is_causal=True, causal_alignment="bottom_right"),
        lambda q, k, v: plain_attention(q, k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1), visible),
        drawn((1, 4, 2, 2), (1, 2, 4, 2), (1, 2, 4, 1)),
    )


def test_multi_head():
    def reference(x, context, *weights):
        return multi_head_attention(x, context, MultiHeadWeights(*weights), num_heads=2)

    def formula(x, context, w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o):
        def heads(y):
            return torch.stack(y.chunk(2, dim=-1), dim=1)

        attended = plain_attention(
            heads(x @ w_q + b_q),
            heads(context @ w_k + b_k),
            heads(context @ w_v + b_v),
            np.ones((2, 3), dtype=bool),
        )
        return torch.cat(attended.unbind(dim=1), dim=-1) @ w_o + b_o

    compare(
        reference,
        formula,
        drawn((1, 2, 3), (1, 3, 3), (3, 4), (3, 4), (3, 2), (2, 3), (4,), (4,), (2,), (3,)),
    )


@pytest.mark.parametrize("eps_placement", ["inside_root", "outside_root"])
def test_layer_norm(eps_placement):
    def formula(x, gamma, beta):
        variance = x.var(dim=-1, correction=0, keepdim=True)
        divisor = (variance + 0.1).sqrt() if eps_placement == "inside_root" else variance.sqrt() + 0.1
        return (x - x.mean(dim=-1, keepdim=True)) / divisor * gamma + beta

    compare(
        lambda x, gamma, beta: layer_norm(x, gamma, beta, eps=0.1, eps_placement=eps_placement),
        formula,
        drawn((2, 3, 5), (5,), (5,)),
    )


@pytest.mark.parametrize("gain", ["gamma", "one_plus_gamma"])
def test_rms_norm(gain):
    def formula(x, gamma):
        return x * (x.square().mean(dim=-1, keepdim=True) + 0.1).rsqrt() * (gamma + (gain != "gamma"))

    compare(lambda x, gamma: rms_norm(x, gamma, eps=0.1, gain=gain), formula, drawn((2, 3, 5), (5,)))


FORMULAS = {
    "erf": torch.nn.functional.gelu,
    "tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
}


@pytest.mark.parametrize("form", FORMULAS)
def test_gelu(form):
    compare(lambda x: gelu(2.0 * x, form), lambda x: FORMULAS[form](2.0 * x), drawn((3, 5)))


def test_silu():
    compare(silu, torch.nn.functional.silu, drawn((3, 5)))


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_feed_forward(activation):
    def reference(x, *weights):
        return feed_forward(x, FeedForwardWeights(*weights), activation=activation)

    def formula(x, w_1, w_2, b_1, b_2):
        hidden = getattr(torch.nn.functional, activation)(torch.nn.functional.linear(x, w_1.T, b_1))
        return torch.nn.functional.linear(hidden, w_2.T, b_2)

    compare(reference, formula, drawn((2, 2, 3), (3, 4), (4, 3), (4,), (3,)))


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_gated_feed_forward(activation):
    def reference(x, *weights):
        return gated_feed_forward(x, GatedFeedForwardWeights(*weights), activation=activation)

    def formula(x, w_gate, w_up, w_down):
        return (getattr(torch.nn.functional, activation)(x @ w_gate) * (x @ w_up)) @ w_down

    compare(reference, formula, drawn((2, 2, 3), (3, 4), (3, 4), (4, 3)))


def test_softmax():
    compare(softmax, lambda x: torch.softmax(x, dim=-1), drawn((3, 5)))


def test_values_of_torch_attention():
    query, key, value = drawn((2, 4, 5, 3), (2, 2, 7, 3), (2, 2, 7, 6))
    mask = np.random.default_rng(1).random((2, 1, 5, 7)) < 0.7
    output = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (query, key, value)), attn_mask=torch.tensor(mask), enable_gqa=True
    )
    np.testing.assert_allclose(
        grouped_query_attention(query, key, value, mask=mask), output.numpy(), rtol=1e-12, atol=1e-14
    )


def test_values_of_torch_layer_norm():
    x, gamma, beta = drawn((2, 3, 8), (8,), (8,))
    output = torch.nn.functional.layer_norm(*map(torch.tensor, (x,)), (8,), *map(torch.tensor, (gamma, beta)), 1e-5)
    np.testing.assert_allclose(layer_norm(x, gamma, beta, eps=1e-5), output.numpy(), rtol=1e-12, atol=1e-14)
