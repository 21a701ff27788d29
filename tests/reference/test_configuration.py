"""Configurations, and the number of weights that published models have."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.reference import configure, parameter_count, weight_tree
from veriformer.reference.model_weights import arrays_of

SMALL = {"num_layers": 2, "d_model": 4, "num_heads": 2, "d_ff": 6, "vocabulary_size": 5, "max_length": 7}


def sizes(layers, width, heads, hidden, vocabulary, length, kv_heads=None):
    return {
        "num_layers": layers,
        "d_model": width,
        "num_heads": heads,
        "d_ff": hidden,
        "vocabulary_size": vocabulary,
        "max_length": length,
        "num_kv_heads": kv_heads,
    }


@pytest.mark.parametrize(
    ("architecture", "given", "count"),
    (
        # Hugging Face's `num_parameters()` of the published checkpoints; bert-base's 109,482,240 less its pooler of
        # 590,592 and its two segment embeddings of 768. BART's position tables have 1024 + 2 rows.
        ("gpt", sizes(12, 768, 12, 3072, 50257, 1024), 124_439_808),
        ("bart", sizes(6, 768, 12, 3072, 50265, 1026), 139_420_416),
        ("bert", sizes(12, 768, 12, 3072, 30522, 512), 109_482_240 - 590_592 - 2 * 768),
        ("llama", sizes(32, 4096, 32, 11008, 32000, 4096), 6_738_415_616),
        ("llama", sizes(80, 8192, 64, 28672, 32000, 4096, 8), 68_976_648_192),
    ),
)
def test_published_models_have_as_many_weights_as_their_checkpoints(architecture, given, count):
    assert parameter_count(configure(architecture, **given)) == count


@pytest.mark.parametrize(
    ("given", "published", "within"),
    (
        # Table 3 of the paper is three per cent above what its own sizes give for the base model: 37,000 · 512 +
        # 6 · (4 + 8) · 512² weights beside biases and norms are 63 million.
        (sizes(6, 512, 8, 2048, 37000, 512), 65e6, 0.03),
        # The vocabulary that the printed number would need.
        (sizes(6, 512, 8, 2048, 40700, 512), 65e6, 0.001),
        (sizes(6, 1024, 16, 4096, 37000, 512), 213e6, 0.01),
    ),
)
def test_the_original_transformer_has_about_as_many_weights_as_its_paper_says(given, published, within):
    assert abs(parameter_count(configure("vaswani", **given)) / published - 1.0) < within


def test_the_original_base_model_counted_by_hand():
    width, hidden, layers, vocabulary = 512, 2048, 6, 37000
    attention, network, norm = 4 * (width**2 + width), 2 * width * hidden + hidden + width, 2 * width
    by_hand = vocabulary * width + layers * (3 * attention + 2 * network + 5 * norm)
    assert parameter_count(configure("vaswani", **sizes(6, 512, 8, 2048, 37000, 512))) == by_hand == 63_082_496


@pytest.mark.parametrize("architecture", ("bert", "vaswani", "bart", "gpt", "llama"))
def test_counting_shapes_counts_the_arrays_of_a_real_tree(architecture):
    config = configure(architecture, **SMALL)
    tree = weight_tree(config, lambda _, shape: np.ones(shape))
    assert parameter_count(config) == int(sum(array.sum() for array in arrays_of(tree)))


def test_an_encoder_has_no_unembedding():
    config = configure("gpt", **SMALL, tied_embedding=False)
    assert weight_tree(config, lambda _, shape: np.ones(shape)).unembedding.shape == (4, 5)
    assert weight_tree(config, lambda _, shape: np.ones(shape), encoder_only=True).unembedding is None


@pytest.mark.parametrize(
    ("change", "message"),
    (
        ({"d_model": 5}, "d_model must be a multiple of num_heads"),
        ({"num_heads": 0}, "num_heads must be an integer of at least 1"),
        ({"num_kv_heads": 3}, "num_heads must be a multiple of num_kv_heads"),
        ({"norm": "batch_norm"}, "norm must be one of"),
        ({"positions": "spiral"}, "positions must be one of"),
        ({"positions": "rotary", "d_model": 6}, "head width, for rotary positions, must be a multiple of 2"),
        ({"positions": "sinusoidal", "d_model": 3, "num_heads": 1}, "for sinusoidal positions, must be a multiple"),
    ),
)
def test_what_does_not_go_together_is_refused(change, message, shapes_unchecked):
    with pytest.raises(ValueError, match=message):
        configure("gpt", **(SMALL | change))


def test_an_unknown_architecture_is_refused(shapes_unchecked):
    with pytest.raises(ValueError, match="architecture must be one of 'bert'"):
        configure("gtp", **SMALL)
