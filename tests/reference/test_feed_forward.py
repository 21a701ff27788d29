from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from veriformer.reference import FeedForwardWeights, GatedFeedForwardWeights, feed_forward, gated_feed_forward, gelu


def drawn(*shapes, seed=0):
    """Multiples of 1/8, whose sums and products float64 holds exactly."""
    generator = np.random.default_rng(seed)
    return [generator.integers(-16, 17, shape) / 8.0 for shape in shapes]


def project(vector, matrix, bias=None):
    """Row vector times matrix plus bias, in fractions."""
    columns = range(matrix.shape[1])
    products = [sum(x * Fraction(matrix[a, f]) for a, x in enumerate(vector)) for f in columns]
    return [y + (0 if bias is None else Fraction(bias[f])) for f, y in enumerate(products)]


def rectified(vector):
    return [max(x, Fraction(0)) for x in vector]


def by_rows(x, function):
    rows = [[float(y) for y in function([Fraction(v) for v in row])] for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows).reshape(x.shape)


@pytest.mark.parametrize("biases", [(None, None), ("b_1", None), (None, "b_2"), ("b_1", "b_2")])
def test_feed_forward_is_exact_with_relu(biases):
    x, w_1, w_2, b_1, b_2 = drawn((2, 3, 4), (4, 7), (7, 4), (7,), (4,))
    b_1, b_2 = (b_1 if biases[0] else None), (b_2 if biases[1] else None)
    expected = by_rows(x, lambda row: project(rectified(project(row, w_1, b_1)), w_2, b_2))
    np.testing.assert_array_equal(feed_forward(x, FeedForwardWeights(w_1, w_2, b_1, b_2), activation="relu"), expected)


def test_gated_feed_forward_is_exact_with_relu():
    x, w_gate, w_up, w_down = drawn((2, 3, 4), (4, 7), (4, 7), (7, 4))

    def network(row):
        pairs = zip(rectified(project(row, w_gate)), project(row, w_up), strict=True)
        return project([gate * up for gate, up in pairs], w_down)

    weights = GatedFeedForwardWeights(w_gate, w_up, w_down)
    np.testing.assert_array_equal(gated_feed_forward(x, weights, activation="relu"), by_rows(x, network))


@pytest.mark.parametrize("form", ["erf", "tanh", "sigmoid"])
@pytest.mark.parametrize("gated", [False, True])
def test_the_form_of_gelu_reaches_the_activation(form, gated):
    x, one = np.linspace(-3.0, 3.0, 7)[:, None], np.ones((1, 1))
    if gated:
        weights = GatedFeedForwardWeights(one, one, one)
        got, expected = gated_feed_forward(x, weights, activation="gelu", gelu_form=form), gelu(x, form) * x
    else:
        weights = FeedForwardWeights(one, one)
        got, expected = feed_forward(x, weights, activation="gelu", gelu_form=form), gelu(x, form)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(4,), (0, 4), (2, 0, 4), (2, 1, 3, 4)])
def test_any_leading_axes(shape):
    x, w_1, w_2 = drawn(shape, (4, 5), (5, 4))
    assert feed_forward(x, FeedForwardWeights(w_1, w_2), activation="gelu").shape == shape
    assert gated_feed_forward(x, GatedFeedForwardWeights(w_1, w_1, w_2), activation="silu").shape == shape
