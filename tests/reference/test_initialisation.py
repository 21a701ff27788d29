"""Initial weights of the reference: their shapes, variances by exact fractions, and averages over many entries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from veriformer.reference import bias_inputs, configure, initial_variance, initial_weights, weight_tree
from veriformer.reference.model_weights import arrays_of

SIZES = {"num_layers": 3, "d_model": 64, "num_heads": 8, "d_ff": 160, "vocabulary_size": 40, "max_length": 24}
LLAMA = configure("llama", num_kv_heads=2, **SIZES)
# n_in, n_out of each projection of LLAMA: heads are 8 wide.
FANS = {
    "w_q": (64, 64),
    "w_k": (64, 16),
    "w_v": (64, 16),
    "w_o": (64, 64),
    "w_gate": (64, 160),
    "w_up": (64, 160),
    "w_down": (160, 64),
    "unembedding": (64, 40),
}
RULES = {
    "fan_in": lambda inputs, outputs: Fraction(1, inputs),
    "fan_in_and_out": lambda inputs, outputs: Fraction(2, inputs + outputs),
    "third_of_fan_in": lambda inputs, outputs: Fraction(1, 3 * inputs),
    "fixed": lambda inputs, outputs: Fraction(1, 2500),
}


def named(weights):
    """Return the arrays of a record or a list by dotted names."""
    if isinstance(weights, np.ndarray):
        return {"": weights}
    members = enumerate(weights) if isinstance(weights, list) else vars(weights).items()
    parts = {name: named(member) for name, member in members if member is not None}
    return {f"{name}.{rest}".rstrip("."): array for name, part in parts.items() for rest, array in part.items()}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FANS)
def test_variances_are_the_fractions(rule, name):
    exact = RULES[rule](*FANS[name])
    found = initial_variance(name, FANS[name], LLAMA, initial_deviation=rule)
    np.testing.assert_allclose(found, float(exact), rtol=1e-15)
    scaled = initial_variance(name, FANS[name], LLAMA, initial_deviation=rule, initial_residual="by_depth")
    np.testing.assert_allclose(scaled, float(exact / 6 if name in ("w_o", "w_down") else exact), rtol=1e-15)
    for layer in range(3):
        settings = {"initial_deviation": rule, "initial_residual": "by_layer"}
        own = initial_variance(name, FANS[name], LLAMA, layer=layer, **settings)
        branches = 2 * (layer + 1) if name in ("w_o", "w_down") else 1
        np.testing.assert_allclose(own, float(exact / branches), rtol=1e-15)


def test_packed_queries_keys_and_values_count_as_one_matrix():
    found = {
        name: initial_variance(name, fans, LLAMA, initial_deviation="packed_fan_in_and_out")
        for name, fans in FANS.items()
    }
    assert found["w_q"] == found["w_k"] == found["w_v"] == float(Fraction(2, 64 + 64 + 16 + 16))
    assert found["w_o"] == float(Fraction(2, 128))


@pytest.mark.parametrize("architecture", ["gpt", "llama", "bert"])
def test_the_record_is_that_of_the_model(architecture):
    config = configure(architecture, **SIZES)
    expected = weight_tree(config, lambda _, shape: np.zeros(shape))
    assert [a.shape for a in arrays_of(initial_weights(config, seed=0))] == [a.shape for a in arrays_of(expected)]


@pytest.mark.parametrize("bias", ["zero", "uniform"])
def test_norms_start_alone_and_biases_as_said(bias):
    config = configure("gpt", **SIZES)
    weights = named(initial_weights(config, seed=1, initial_bias=bias))
    for path, array in weights.items():
        name = path.rpartition(".")[2]
        if name in ("gamma", "beta"):
            np.testing.assert_array_equal(array, float(name == "gamma"))
        if name.startswith("b_"):
            bound = bias_inputs(name, config) ** -0.5 if bias == "uniform" else 0.0
            assert np.abs(array).max() <= bound
            assert bool(array.any()) == (bias == "uniform")


def test_biases_are_bounded_by_the_inputs_of_their_projection():
    config = configure("gpt", **SIZES)
    assert {name: bias_inputs(f"b_{name}", config) for name in "qkvo12"} == {**dict.fromkeys("qkvo1", 64), "2": 160}


@pytest.mark.parametrize("residual", ["by_depth", "by_layer"])
def test_over_many_seeds_mean_and_variance_are_those_of_the_rule(residual):
    found = [named(initial_weights(LLAMA, seed=seed, initial_residual=residual)) for seed in range(60)]
    for path in found[0]:
        name = path.rpartition(".")[2]
        if name in FANS:
            entries = np.concatenate([one[path].ravel() for one in found])
            layer = int(path.split(".")[1]) if path.startswith("layers") else 0
            variance = initial_variance(name, FANS[name], LLAMA, layer=layer, initial_residual=residual)
            # Six standard deviations of a mean, and of a variance, of so many normal numbers.
            assert abs(entries.mean()) <= 6.0 * np.sqrt(variance / entries.size)
            assert abs(entries.var() / variance - 1.0) <= 6.0 * np.sqrt(2.0 / entries.size)


def test_the_seed_decides_and_nothing_else():
    first, again, other = (named(initial_weights(LLAMA, seed=seed)) for seed in (1, 1, 2))
    for path, array in first.items():
        np.testing.assert_array_equal(array, again[path])
        assert path.endswith("gamma") or not (array == other[path]).any()


@pytest.mark.parametrize("width", [16, 64, 256])
def test_logits_of_unit_vectors_have_the_variance_one_at_every_width(width):
    config = configure("gpt", **{**SIZES, "d_model": width, "num_heads": 2, "num_layers": 1})
    found = []
    for seed in range(2000 // width):
        attention = initial_weights(config, seed=seed).layers[0].self_attention
        heads = zip(*(np.split(matrix, 2, axis=1) for matrix in (attention.w_q, attention.w_k)), strict=True)
        found += [np.sum((queries @ keys.T) ** 2) / (width / 2) for queries, keys in heads]
    np.testing.assert_allclose(np.mean(found), 1.0, atol=0.15)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 0, "initial_bias": "one"}, "initial_bias"),
        ({"seed": 0, "initial_deviation": "he"}, "initial_deviation"),
        ({"seed": 0, "initial_residual": "twice"}, "initial_residual"),
    ],
)
def test_wrong_arguments_are_refused(changed, message):
    with pytest.raises(Exception, match=message):
        initial_weights(LLAMA, **changed)


@pytest.mark.parametrize("architecture", ["vaswani", "bart"])
def test_encoder_decoders_are_refused(architecture):
    with pytest.raises(ValueError, match="language models and encoders"):
        initial_weights(configure(architecture, **SIZES), seed=0)
