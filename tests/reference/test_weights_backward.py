"""The gradients of attention's weights against derivatives with 40 digits, and against those of attention."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import attention_weights_backward, scaled_dot_product_attention_backward

QUERIES, KEYS, WIDTH = 2, 3, 2
MASK = np.array([[True, False, True], [True, True, True]])


def drawn(seed):
    generator = np.random.default_rng(seed)
    shapes = ((1, 1, QUERIES, WIDTH), (1, 1, KEYS, WIDTH), (1, 1, QUERIES, KEYS))
    return [generator.normal(size=shape) for shape in shapes]


def loss(numbers, grad_output, scale, softcap, sink):
    """Return ⟨grad_output, weights⟩ with 40 digits; the numbers are those of the queries, then of the keys."""
    rows = [numbers[at : at + WIDTH] for at in range(0, len(numbers), WIDTH)]
    query, key = rows[:QUERIES], rows[QUERIES:]
    total = mpmath.mpf(0)
    for row, one in enumerate(query):
        shown = [column for column in range(KEYS) if MASK[row, column]]
        logits = [scale * mpmath.fsum(a * b for a, b in zip(one, key[column], strict=True)) for column in shown]
        if softcap is not None:
            logits = [softcap * mpmath.tanh(logit / softcap) for logit in logits]
        masses = [mpmath.exp(logit) for logit in logits]
        whole = mpmath.fsum(masses) + (0 if sink is None else mpmath.exp(sink))
        total += mpmath.fsum(
            mpmath.mpf(float(grad_output[row, column])) * mass / whole
            for column, mass in zip(shown, masses, strict=True)
        )
    return total


@pytest.mark.parametrize(("softcap", "sink"), ((None, None), (0.75, None), (None, 0.5), (1.5, -0.5)))
def test_both_gradients_are_the_derivatives_of_the_weights(softcap, sink):
    query, key, grad_output = drawn(0)
    sinks = None if sink is None else np.array([sink])
    found = attention_weights_backward(query, key, grad_output, mask=MASK, scale=0.75, softcap=softcap, sinks=sinks)
    with mpmath.workdps(40):
        point = [mpmath.mpf(float(number)) for number in (*query.ravel(), *key.ravel())]

        def moved(*values):
            return loss(values, grad_output[0, 0], mpmath.mpf(0.75), softcap, sink)

        count = len(point)
        right = [
            mpmath.diff(moved, point, tuple(int(place == other) for other in range(count))) for place in range(count)
        ]
    got = np.concatenate([part.ravel() for part in found])
    np.testing.assert_allclose(got, np.array(right, dtype=float), rtol=1e-11, atol=1e-14)


def test_weights_are_the_attention_of_values_that_are_an_identity():
    query, key, grad_output = drawn(1)
    value = np.eye(KEYS)[None, None]
    by_attention = scaled_dot_product_attention_backward(query, key, value, grad_output, mask=MASK)[:2]
    for one, other in zip(attention_weights_backward(query, key, grad_output, mask=MASK), by_attention, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("content", (np.nan, np.inf))
def test_what_a_hidden_key_holds_and_the_gradient_of_its_weight_do_not_matter(content):
    query, key, grad_output = drawn(2)
    mask = np.array([[True, False, True]] * QUERIES)
    clean = attention_weights_backward(query, key, grad_output, mask=mask)
    key[:, :, 1], grad_output[..., 1] = content, content
    for one, other in zip(clean, attention_weights_backward(query, key, grad_output, mask=mask), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_query_without_keys_has_no_gradient():
    query, key, grad_output = drawn(3)
    mask = np.array([[False] * KEYS, [True] * KEYS])
    to_query, to_key = attention_weights_backward(query, key, grad_output, mask=mask)
    assert not to_query[:, :, 0].any()
    alone = attention_weights_backward(query[:, :, 1:], key, grad_output[:, :, 1:])
    np.testing.assert_allclose(to_key, alone[1], rtol=1e-14)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_gradient_of_another_shape_than_the_weights_is_refused():
    query, key, grad_output = drawn(4)
    with pytest.raises(ValueError, match="grad_output must have shape"):
        attention_weights_backward(query, key, grad_output[..., :1])
