"""Encoder and decoder layers against plain loops over numbers with 30 digits, which share nothing with them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import (
    DecoderLayerWeights,
    EncoderLayerWeights,
    FeedForwardWeights,
    MultiHeadWeights,
    NormWeights,
    decoder_layer,
    encoder_layer,
    layer_norm,
)

WIDTH, HIDDEN, HEADS, EPS = 4, 3, 2, 1e-2
SETTINGS = {"num_heads": HEADS, "eps": EPS}


def drawn(*shape, seed=0):
    """Multiples of 1/4, no two draws alike."""
    return np.random.default_rng([seed, *shape]).integers(-6, 7, shape) / 4.0


def attention_weights(seed, *, biased=True):
    matrices = [drawn(WIDTH, WIDTH, seed=seed + k) / 2.0 for k in range(4)]
    return MultiHeadWeights(*matrices, *[drawn(WIDTH, seed=seed + k) if biased else None for k in range(4)])


def norm_weights(seed):
    return NormWeights(drawn(WIDTH, seed=seed) + 0.125, drawn(WIDTH, seed=seed + 1))


def network_weights(*, biased=True):
    biases = (drawn(HIDDEN), drawn(WIDTH, seed=9)) if biased else (None, None)
    return FeedForwardWeights(drawn(WIDTH, HIDDEN), drawn(HIDDEN, WIDTH), *biases)


def encoder_weights(**options):
    return EncoderLayerWeights(
        attention_weights(10, **options), norm_weights(20), network_weights(**options), norm_weights(30)
    )


def decoder_weights():
    return DecoderLayerWeights(
        attention_weights(10),
        norm_weights(20),
        attention_weights(40),
        norm_weights(30),
        network_weights(),
        norm_weights(50),
    )


def times(vector, matrix, bias):
    columns = range(matrix.shape[1])
    products = [mpmath.fsum(x * mpmath.mpf(matrix[i, j]) for i, x in enumerate(vector)) for j in columns]
    return [y + (0 if bias is None else mpmath.mpf(bias[j])) for j, y in enumerate(products)]


def normalised(vector, norm, outside):
    mean = mpmath.fsum(vector) / len(vector)
    variance = mpmath.fsum((x - mean) ** 2 for x in vector) / len(vector)
    root = mpmath.sqrt(variance) + EPS if outside else mpmath.sqrt(variance + EPS)
    return [(x - mean) / root * g + b for x, g, b in zip(vector, norm.gamma, norm.beta, strict=True)]


def attended(rows, context, weights, visible):
    queries = [times(row, weights.w_q, weights.b_q) for row in rows]
    keys = [times(row, weights.w_k, weights.b_k) for row in context]
    values = [times(row, weights.w_v, weights.b_v) for row in context]
    size, results = WIDTH // HEADS, []
    for i, query in enumerate(queries):
        merged = []
        for block in (range(h * size, (h + 1) * size) for h in range(HEADS)):
            shown = [j for j in range(len(keys)) if visible(i, j)]
            powers = [mpmath.exp(mpmath.fsum(query[d] * keys[j][d] for d in block) / mpmath.sqrt(size)) for j in shown]
            total = mpmath.fsum(powers)
            merged += [mpmath.fsum(p / total * values[j][d] for p, j in zip(powers, shown, strict=True)) for d in block]
        results.append(times(merged, weights.w_o, weights.b_o))
    return results


def transformed(rows, weights):
    hidden = [[max(x, mpmath.mpf(0)) for x in times(row, weights.w_1, weights.b_1)] for row in rows]
    return [times(row, weights.w_2, weights.b_2) for row in hidden]


def summed(one, other):
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]


def by_loops(sample, sublayers, *, norm_first, outside=False):
    rows = [[mpmath.mpf(x) for x in row] for row in sample]
    for sublayer, norm in sublayers:
        if norm_first:
            rows = summed(rows, sublayer([normalised(row, norm, outside) for row in rows]))
        else:
            rows = [normalised(row, norm, outside) for row in summed(rows, sublayer(rows))]
    return np.array([[float(x) for x in row] for row in rows])


def encoder_by_loops(sample, real, weights, **options):
    def attend(rows):
        return attended(rows, rows, weights.self_attention, lambda _, j: real[j])

    pairs = [(attend, weights.norm_1), (lambda rows: transformed(rows, weights.feed_forward), weights.norm_2)]
    return by_loops(sample, pairs, **options)


def decoder_by_loops(sample, memory, real, memory_real, weights, **options):
    context = [[mpmath.mpf(x) for x in row] for row in memory]

    def attend(rows):
        return attended(rows, rows, weights.self_attention, lambda i, j: real[j] and j <= i)

    def look_up(rows):
        return attended(rows, context, weights.cross_attention, lambda _, j: memory_real[j])

    pairs = [
        (attend, weights.norm_1),
        (look_up, weights.norm_2),
        (lambda rows: transformed(rows, weights.feed_forward), weights.norm_3),
    ]
    return by_loops(sample, pairs, **options)


REAL = np.array([[True, True, False], [True, True, True]])
MEMORY_REAL = np.array([[False, True], [True, True]])


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(30):
        yield


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("placement", ["inside_root", "outside_root"])
@pytest.mark.parametrize("biased", [False, True])
def test_an_encoder_layer_is_what_loops_make_of_it(norm_first, placement, biased):
    x, weights = drawn(2, 3, WIDTH), encoder_weights(biased=biased)
    options = {"norm_first": norm_first, "activation": "relu", "eps_placement": placement, **SETTINGS}
    got = encoder_layer(x, weights, padding_mask=REAL, **options)
    for sample, real, result in zip(x, REAL, got, strict=True):
        expected = encoder_by_loops(sample, real, weights, norm_first=norm_first, outside=placement == "outside_root")
        np.testing.assert_allclose(result[real], expected[real], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_is_what_loops_make_of_it(norm_first):
    x, memory, weights = drawn(2, 3, WIDTH), drawn(2, 2, WIDTH, seed=1), decoder_weights()
    got = decoder_layer(
        x,
        memory,
        weights,
        norm_first=norm_first,
        activation="relu",
        padding_mask=REAL,
        memory_padding_mask=MEMORY_REAL,
        **SETTINGS,
    )
    for sample, source, real, memory_real, result in zip(x, memory, REAL, MEMORY_REAL, got, strict=True):
        expected = decoder_by_loops(sample, source, real, memory_real, weights, norm_first=norm_first)
        np.testing.assert_allclose(result[real], expected[real], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", ["erf", "tanh", "sigmoid"])
def test_the_form_of_gelu_reaches_the_network(form):
    x, weights = drawn(1, 2, WIDTH), encoder_weights()
    results = [
        encoder_layer(x, weights, norm_first=True, activation="gelu", gelu_form=other, **SETTINGS)
        for other in ("erf", "tanh", "sigmoid")
        if other != form
    ]
    own = encoder_layer(x, weights, norm_first=True, activation="gelu", gelu_form=form, **SETTINGS)
    assert all(np.abs(own - other).max() > 1e-5 for other in results)


def test_without_masks_every_position_is_real():
    x, weights = drawn(2, 3, WIDTH), encoder_weights()
    options = {"norm_first": False, "activation": "silu", **SETTINGS}
    everything = np.ones((2, 3), dtype=bool)
    np.testing.assert_array_equal(
        encoder_layer(x, weights, **options), encoder_layer(x, weights, padding_mask=everything, **options)
    )


def test_a_left_padded_row_that_sees_nothing_is_finite():
    x, memory, weights = drawn(1, 3, WIDTH), drawn(1, 2, WIDTH, seed=1), decoder_weights()
    mask = np.array([[False, True, True]])
    result = decoder_layer(x, memory, weights, norm_first=False, activation="relu", padding_mask=mask, **SETTINGS)
    assert np.isfinite(result).all()


def test_a_norm_of_its_own_stands_at_each_sublayer():
    x, weights = drawn(1, 2, WIDTH), encoder_weights()
    silent = EncoderLayerWeights(
        MultiHeadWeights(*[np.zeros((WIDTH, WIDTH))] * 4),
        weights.norm_1,
        FeedForwardWeights(np.zeros((WIDTH, HIDDEN)), np.zeros((HIDDEN, WIDTH))),
        weights.norm_2,
    )
    once = layer_norm(x, weights.norm_1.gamma, weights.norm_1.beta, eps=EPS)
    twice = layer_norm(once, weights.norm_2.gamma, weights.norm_2.beta, eps=EPS)
    np.testing.assert_allclose(encoder_layer(x, silent, norm_first=False, activation="relu", **SETTINGS), twice)
    np.testing.assert_array_equal(encoder_layer(x, silent, norm_first=True, activation="relu", **SETTINGS), x)


@pytest.mark.parametrize("mask", [np.ones((2, 2), dtype=bool), np.ones((2, 3)), np.ones((1, 3), dtype=bool)])
def test_a_mask_that_does_not_fit_is_refused(mask):
    with pytest.raises(Exception, match=r"padding_mask must be boolean of shape \(2, 3\)|jaxtyping|Type-check"):
        encoder_layer(
            drawn(2, 3, WIDTH), encoder_weights(), norm_first=True, activation="relu", padding_mask=mask, **SETTINGS
        )


def test_no_input_is_changed():
    x, memory, weights = drawn(2, 3, WIDTH), drawn(2, 2, WIDTH, seed=1), decoder_weights()
    before = x.copy(), memory.copy(), weights.norm_1.gamma.copy()
    decoder_layer(x, memory, weights, norm_first=True, activation="gelu", **SETTINGS)
    for array, copy in zip((x, memory, weights.norm_1.gamma), before, strict=True):
        np.testing.assert_array_equal(array, copy)
