"""The gradients of a bias and of sinks against derivatives with 40 digits, and against PyTorch's."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import attention_bias_backward, attention_sinks_backward

QUERIES, KEYS, WIDTH = 2, 3, 2
MASK = np.array([[True, False, True], [True, True, True]])
SHAPES = ((2, 3, 2, 3), (2, 1, 2, 3), (1, 3, 2, 3), (1, 1, 2, 3), (2, 3), (2, 1, 1, 3), (1, 3, 1, 1), (2, 3, 2, 1))


def drawn(seed, batch=1, heads=1):
    generator = np.random.default_rng(seed)
    rows = (QUERIES, KEYS, KEYS, QUERIES)
    return [generator.normal(size=(batch, heads, row, WIDTH)) for row in rows]


def loss(arrays, bias, sink, scale, softcap):
    """Return ⟨grad_output, attention⟩ of one head with 40 digits."""
    query, key, value, grad_output = ([list(map(float, row)) for row in array[0, 0]] for array in arrays)
    total = mpmath.mpf(0)
    for row in range(QUERIES):
        shown = [column for column in range(KEYS) if MASK[row, column]]
        logits = []
        for column in shown:
            logit = scale * mpmath.fsum(mpmath.mpf(a) * b for a, b in zip(query[row], key[column], strict=True))
            if softcap is not None:
                logit = softcap * mpmath.tanh(logit / softcap)
            logits.append(logit + bias[row][column])
        masses = [mpmath.exp(logit) for logit in logits]
        whole = mpmath.fsum(masses) + (0 if sink is None else mpmath.exp(sink))
        for column, mass in zip(shown, masses, strict=True):
            product = mpmath.fsum(mpmath.mpf(a) * b for a, b in zip(grad_output[row], value[column], strict=True))
            total += product * mass / whole
    return total


@pytest.mark.parametrize(("softcap", "sink"), ((None, None), (0.75, None), (None, 0.5), (1.5, -0.5)))
def test_the_gradient_of_a_bias_is_the_derivative_of_the_output(softcap, sink):
    arrays, bias = drawn(0), np.random.default_rng(5).normal(size=(QUERIES, KEYS))
    sinks = None if sink is None else np.array([sink])
    found = attention_bias_backward(*arrays, bias=bias, mask=MASK, scale=0.75, softcap=softcap, sinks=sinks)
    assert found.shape == bias.shape
    with mpmath.workdps(40):
        point = [mpmath.mpf(float(number)) for number in bias.ravel()]

        def moved(*numbers):
            return loss(arrays, [numbers[:KEYS], numbers[KEYS:]], sink, mpmath.mpf(0.75), softcap)

        count = len(point)
        right = [
            mpmath.diff(moved, point, tuple(int(place == other) for other in range(count))) for place in range(count)
        ]
    np.testing.assert_allclose(found.ravel(), np.array(right, dtype=float), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("softcap", (None, 1.5))
@pytest.mark.parametrize("sink", (-3.0, 0.0, 2.5))
def test_the_gradient_of_a_sink_is_the_derivative_of_the_output(sink, softcap):
    arrays, bias = drawn(1), np.random.default_rng(6).normal(size=(QUERIES, KEYS))
    found = attention_sinks_backward(*arrays, sinks=np.array([sink]), bias=bias, mask=MASK, scale=0.75, softcap=softcap)
    with mpmath.workdps(40):
        right = mpmath.diff(lambda moved: loss(arrays, bias.tolist(), moved, mpmath.mpf(0.75), softcap), sink)
    np.testing.assert_allclose(found, [float(right)], rtol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shared_bias_gets_what_pytorch_adds_up(shape):
    torch = pytest.importorskip("torch")
    arrays, generator = drawn(2, batch=2, heads=3), np.random.default_rng(7)
    bias, sinks = generator.normal(size=shape), generator.normal(size=3)
    query, key, value, grad_output = map(torch.tensor, arrays)
    of_bias, of_sinks = (torch.tensor(array, requires_grad=True) for array in (bias, sinks))
    logits = (query @ key.mT * WIDTH**-0.5 + of_bias).masked_fill(~torch.tensor(MASK), -torch.inf)
    column = of_sinks[:, None, None].expand(2, 3, QUERIES, 1)
    output = torch.cat([logits, column], -1).softmax(-1)[..., :-1] @ value
    right = torch.autograd.grad(output, (of_bias, of_sinks), grad_output)
    found = attention_bias_backward(*arrays, bias=bias, mask=MASK, sinks=sinks)
    np.testing.assert_allclose(found, right[0].numpy(), rtol=1e-11, atol=1e-14)
    found = attention_sinks_backward(*arrays, bias=bias, mask=MASK, sinks=sinks)
    np.testing.assert_allclose(found, right[1].numpy(), rtol=1e-11, atol=1e-14)


def test_a_faint_sink_keeps_its_digits():
    arrays = drawn(3)
    near, far = (attention_sinks_backward(*arrays, sinks=np.array([sink])) for sink in (-40.0, -41.0))
    np.testing.assert_allclose(near / far, np.e, rtol=1e-11)


def test_hidden_entries_have_no_gradient_whatever_is_behind_them():
    arrays, bias = drawn(4), np.zeros((QUERIES, KEYS))
    bias[:, 1] = -np.inf
    clean = attention_bias_backward(*arrays, bias=bias)
    assert not clean[:, 1].any()
    for array in arrays[1:3]:
        array[:, :, 1] = np.nan
    np.testing.assert_array_equal(attention_bias_backward(*arrays, bias=bias), clean)


def test_a_query_without_keys_adds_nothing():
    arrays = drawn(5)
    mask = np.array([[False] * KEYS, [True] * KEYS])
    sinks, bias = np.array([0.5]), np.zeros((1, 1, 1, KEYS))
    rest = [array[:, :, 1:] if array.shape[2] == QUERIES else array for array in arrays]
    for function, given in ((attention_bias_backward, {"bias": bias}), (attention_sinks_backward, {"sinks": sinks})):
        np.testing.assert_allclose(function(*arrays, mask=mask, **given), function(*rest, **given), rtol=1e-12)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_gradient_of_another_shape_than_the_output_is_refused():
    query, key, value, grad_output = drawn(6)
    with pytest.raises(ValueError, match="grad_output must have shape"):
        attention_bias_backward(query, key, value, grad_output[..., :1], bias=np.zeros((QUERIES, KEYS)))
