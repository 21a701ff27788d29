"""Whole Transformers against torch's modules and against loops over single positions, all in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from veriformer import reference
from veriformer.reference import configure, weight_tree

SIZES = {"num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 6, "vocabulary_size": 11, "max_length": 9}
TOKENS = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
SOURCE = np.array([[2, 7, 1, 8, 2, 8], [1, 8, 2, 8, 4, 5]])
REAL = np.array([[True] * 5, [True, True, True, False, False]])
SOURCE_REAL = np.array([[True] * 4 + [False] * 2, [True] * 6])


def model(architecture, *, seed=0, **choices):
    """Return a configuration and random weights."""
    generator = np.random.default_rng(seed)
    config = configure(architecture, **(SIZES | choices))
    return config, weight_tree(config, lambda _, shape: generator.normal(size=shape) * 0.5)


# --- Plain loops: one sample, one position, one head at a time, nothing of the reference ---


def vector_norm(x, norm, config):
    if config.norm == "rms_norm":
        return x / math.sqrt(np.mean(x**2) + config.eps) * norm.gamma
    return (x - np.mean(x)) / math.sqrt(np.var(x) + config.eps) * norm.gamma + norm.beta


def activation(name, x):
    if name == "relu":
        return max(x, 0.0)
    if name == "silu":
        return x / (1.0 + math.exp(-x))
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))


def network(x, weights, config):
    act = np.vectorize(lambda number: activation(config.activation, number))
    if config.gated:
        return (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down
    return act(x @ weights.w_1 + weights.b_1) @ weights.w_2 + weights.b_2


def rotated(vector, position, config):
    """Turn the complex numbers that consecutive components make."""
    numbers = vector[0::2] + 1j * vector[1::2]
    width = len(vector)
    for k in range(width // 2):
        numbers[k] *= np.exp(1j * position * config.rotary_base ** (-2 * k / width))
    return np.stack([numbers.real, numbers.imag], axis=1).reshape(-1)


def projected(x, weights, name):
    bias = getattr(weights, f"b_{name}")
    return x @ getattr(weights, f"w_{name}") + (0.0 if bias is None else bias)


def one_query(row, x, context, weights, config, visible, rotary):
    """Attention of one position over the visible positions of the context."""
    width = config.d_model // config.num_heads
    outputs = []
    for head in range(config.num_heads):
        group = head // (config.num_heads // config.num_kv_heads)
        query = projected(x[row], weights, "q")[head * width : (head + 1) * width]
        scores, values = [], []
        for j in visible:
            key = projected(context[j], weights, "k")[group * width : (group + 1) * width]
            turned = (rotated(query, row, config), rotated(key, j, config)) if rotary else (query, key)
            scores.append(math.exp(turned[0] @ turned[1] / math.sqrt(width)))
            values.append(projected(context[j], weights, "v")[group * width : (group + 1) * width])
        outputs.append(sum(s * v for s, v in zip(scores, values, strict=True)) / sum(scores))
    return projected(np.concatenate(outputs), weights, "o")


def sublayer(x, norm, function, config):
    """Apply a function of all rows to each row, with residual and norm where the configuration has them."""
    normed = np.array([vector_norm(row, norm, config) for row in x]) if config.norm_first else x
    summed = x + np.array([function(normed, row) for row in range(len(x))])
    return summed if config.norm_first else np.array([vector_norm(row, norm, config) for row in summed])


def self_attended(x, layer, config, visible_from):
    rotary = config.positions == "rotary"
    return sublayer(
        x,
        layer.norm_1,
        lambda y, row: one_query(row, y, y, layer.self_attention, config, visible_from(row), rotary),
        config,
    )


def embedded(tokens, table, positions, norm, config):
    rows = []
    for place, token in enumerate(tokens):
        row = table[token] * (math.sqrt(config.d_model) if config.scale_embedding else 1.0)
        if config.positions == "learned":
            row = row + positions[place]
        if config.positions == "sinusoidal":
            angles = [place / 10000 ** (2 * (c // 2) / config.d_model) for c in range(config.d_model)]
            row = row + [math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angles)]
        rows.append(row if norm is None else vector_norm(row, norm, config))
    return np.array(rows)


def stack(tokens, weights, config, *, causal, real):
    x = embedded(tokens, weights.embedding, weights.positions, weights.embedding_norm, config)
    for layer in weights.layers:
        x = self_attended(x, layer, config, lambda row: seen(row, real, causal))
        x = sublayer(x, layer.norm_2, lambda y, row, own=layer: network(y[row], own.feed_forward, config), config)
    return x if weights.final_norm is None else np.array([vector_norm(row, weights.final_norm, config) for row in x])


def seen(row, real, causal):
    return [j for j in range(len(real)) if real[j] and not (causal and j > row)]


def language_logits(tokens, weights, config, real):
    x = stack(tokens, weights, config, causal=True, real=real)
    return x @ (weights.embedding.T if weights.unembedding is None else weights.unembedding)


def translated(source, target, weights, config, source_real, real):
    memory = embedded(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm, config)
    for layer in weights.encoder_layers:
        memory = self_attended(memory, layer, config, lambda row: seen(row, source_real, False))
        memory = sublayer(memory, layer.norm_2, lambda y, i, own=layer: network(y[i], own.feed_forward, config), config)
    x = embedded(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm, config)
    visible = seen(0, source_real, False)
    for layer in weights.decoder_layers:
        x = self_attended(x, layer, config, lambda row: seen(row, real, True))
        x = sublayer(
            x,
            layer.norm_2,
            lambda y, i, own=layer: one_query(i, y, memory, own.cross_attention, config, visible, False),
            config,
        )
        x = sublayer(x, layer.norm_3, lambda y, i, own=layer: network(y[i], own.feed_forward, config), config)
    return x @ weights.embedding.T


# --- The tests ---


@pytest.mark.parametrize("architecture", ("bert", "gpt", "llama"))
def test_an_encoder_is_its_loops(architecture):
    config, weights = model(architecture, num_heads=4, num_kv_heads=2) if architecture == "llama" else model("bert")
    computed = reference.encoder(TOKENS, weights, config, padding_mask=REAL)
    for sample, real in enumerate(REAL):
        expected = stack(TOKENS[sample], weights, config, causal=False, real=real)
        np.testing.assert_allclose(computed[sample][real], expected[real], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("architecture", "choices"),
    (
        ("gpt", {}),
        ("gpt", {"tied_embedding": False, "norm_first": False, "final_norm": False}),
        ("gpt", {"positions": "none"}),
        ("gpt", {"positions": "sinusoidal", "scale_embedding": True}),
        ("llama", {}),
        ("llama", {"num_heads": 4, "num_kv_heads": 2, "rotary_base": 100.0}),
        ("llama", {"tied_embedding": True}),
    ),
)
def test_a_language_model_is_its_loops(architecture, choices):
    config, weights = model(architecture, **choices)
    computed = reference.language_model(TOKENS, weights, config, padding_mask=REAL)
    for sample, real in enumerate(REAL):
        expected = language_logits(TOKENS[sample], weights, config, real)
        np.testing.assert_allclose(computed[sample][real], expected[real], rtol=0, atol=1e-11)


@pytest.mark.parametrize("architecture", ("vaswani", "bart"))
def test_an_encoder_decoder_is_its_loops(architecture):
    config, weights = model(architecture)
    computed = reference.encoder_decoder(
        SOURCE, TOKENS, weights, config, source_padding_mask=SOURCE_REAL, target_padding_mask=REAL
    )
    for sample, real in enumerate(REAL):
        expected = translated(SOURCE[sample], TOKENS[sample], weights, config, SOURCE_REAL[sample], real)
        np.testing.assert_allclose(computed[sample][real], expected[real], rtol=0, atol=1e-12)


@pytest.mark.parametrize("architecture", ("gpt", "llama"))
@pytest.mark.parametrize("chunks", ((5,), (1, 4), (4, 1), (2, 2, 1), (1, 1, 1, 1, 1)))
def test_decoding_is_the_language_model_for_every_split(architecture, chunks):
    config, weights = model(architecture)
    cache, parts, start = None, [], 0
    for length in chunks:
        logits, cache = reference.decode_step(TOKENS[:, start : start + length], cache, weights, config)
        parts.append(logits)
        start += length
    expected = [language_logits(row, weights, config, [True] * 5) for row in TOKENS]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, rtol=0, atol=1e-11)
    assert cache.length == 5


def test_two_continuations_of_one_cache_know_nothing_of_each_other():
    config, weights = model("llama")
    _, cache = reference.decode_step(TOKENS[:, :3], None, weights, config)
    first, _ = reference.decode_step(TOKENS[:, 3:], cache, weights, config)
    reference.decode_step(TOKENS[:, :2], cache, weights, config)
    again, _ = reference.decode_step(TOKENS[:, 3:], cache, weights, config)
    np.testing.assert_array_equal(first, again)
    assert cache.length == 3


def test_conventions_reach_the_parts_that_they_are_about():
    config, weights = model("llama")
    plain = reference.language_model(TOKENS, weights, config)
    for change in ({"rotary_pairing": "half"}, {"rms_norm_gain": "one_plus_gamma"}):
        other = reference.language_model(TOKENS, weights, config, conventions=reference.ModelConventions(**change))
        assert np.abs(plain - other).max() > 1e-3
    config, weights = model("vaswani", activation="gelu")
    plain = reference.encoder_decoder(SOURCE, TOKENS, weights, config)
    changes = (
        {"sinusoidal_layout": "concatenated"},
        {"gelu_form": "sigmoid"},
        {"layer_norm_eps": "outside_root"},
    )
    for change in changes:
        conventions = reference.ModelConventions(**change)
        other = reference.encoder_decoder(SOURCE, TOKENS, weights, config, conventions=conventions)
        assert np.abs(plain - other).max() > 1e-8


@pytest.mark.parametrize(
    ("call", "message"),
    (
        (lambda c, w: reference.language_model(np.zeros((1, 10), int), w, c), "not be longer than the 9 rows"),
        (lambda c, w: reference.language_model(TOKENS, w, c, padding_mask=REAL[:1]), "padding_mask must be boolean"),
        (lambda c, w: reference.language_model(TOKENS + 9, w, c), "tokens must be numbers 0 to 10"),
    ),
)
def test_what_does_not_fit_is_refused(call, message, shapes_unchecked):
    config, weights = model("gpt")
    with pytest.raises(ValueError, match=message):
        call(config, weights)


def test_missing_tables_are_named(shapes_unchecked):
    weights = model("llama")[1]
    untied = reference.configure("gpt", **SIZES, tied_embedding=False)
    with pytest.raises(ValueError, match="positions is None, and they are learned"):
        reference.language_model(TOKENS, weights, reference.configure("gpt", **SIZES))
    bare = model("gpt")[1]
    with pytest.raises(ValueError, match="unembedding is None, and the embedding is not tied"):
        reference.language_model(TOKENS, bare, untied)
