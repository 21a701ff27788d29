"""Whole models given lists, ragged rows, and caches of another batch or model: an answer where it fits, or an error."""

from __future__ import annotations

import re

import numpy as np
import pytest
from veriformer.reference import (
    DecodingCache,
    KeysAndValues,
    configure,
    decode_step,
    encoder,
    encoder_decoder,
    language_model,
    weight_tree,
)

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

SIZES = {"num_layers": 2, "d_model": 8, "num_heads": 4, "d_ff": 6, "vocabulary_size": 11, "max_length": 9}


def made(architecture, **sizes):
    config = configure(architecture, **(SIZES | sizes))
    generator = np.random.default_rng(3)
    return weight_tree(config, lambda _, shape: generator.normal(size=shape)), config


GPT, BERT, VASWANI = made("gpt"), made("bert"), made("vaswani")
LLAMA = made("llama", num_kv_heads=2)
TOKENS = np.array([[3, 1, 4], [1, 5, 9]])


def after(tokens, model):
    return decode_step(np.asarray(tokens), None, *model)[1]


@pytest.mark.parametrize(
    ("operation", "model"),
    [(encoder, BERT), (language_model, GPT), (lambda t, w, c: decode_step(t, None, w, c)[0], GPT)],
)
def test_rows_of_equal_length_may_be_lists(operation, model):
    np.testing.assert_array_equal(operation(TOKENS.tolist(), *model), operation(TOKENS, *model))


def test_both_sequences_of_a_translation_may_be_lists():
    got = encoder_decoder(TOKENS.tolist(), TOKENS[:, :2].tolist(), *VASWANI)
    np.testing.assert_array_equal(got, encoder_decoder(TOKENS, TOKENS[:, :2], *VASWANI))


def with_narrow_values(cache):
    return DecodingCache(tuple(KeysAndValues(part.key, part.value[..., :1]) for part in cache.layers))


SHALLOW = DecodingCache(after(TOKENS, LLAMA).layers[:1])
UNEVEN = DecodingCache((after(TOKENS, LLAMA).layers[0], after(TOKENS[:, :1], LLAMA).layers[1]))
ERRORS = {
    "one sequence": (lambda: language_model([3, 1, 4], *GPT), "tokens", "shape (B, L)", "shape (3,)", "one row"),
    "ragged": (lambda: language_model([[3, 1], [4]], *GPT), "tokens", "unequal lengths", "pad them"),
    "numbers": (lambda: language_model([[0.5]], *GPT), "tokens must be integers", "float64", "numbers of the tokens"),
    "words": (lambda: encoder([["a", "cat"]], *BERT), "tokens must be integers", "<U3", "numbers of the tokens"),
    "source": (lambda: encoder_decoder([2, 7], [[1]], *VASWANI), "source", "shape (B, S)", "shape (2,)"),
    "target": (lambda: encoder_decoder([[2, 7]], [1], *VASWANI), "target", "shape (B, L)", "shape (1,)"),
    "step": (lambda: decode_step([1], None, *LLAMA), "tokens", "shape (B, L)", "shape (1,)", "one row"),
    "batch": (
        lambda: decode_step(TOKENS[:1], after(TOKENS, LLAMA), *LLAMA),
        "(1, 2, 3, 2)",
        "(2, 2, 3, 2)",
        "continue",
    ),
    "depth": (lambda: decode_step(TOKENS, SHALLOW, *LLAMA), "2 layers", "got 1", "with these weights"),
    "no layers": (lambda: decode_step(TOKENS, DecodingCache(()), *LLAMA), "2 layers", "got 0", "with these weights"),
    "heads": (
        lambda: decode_step(TOKENS, after(TOKENS, GPT), *LLAMA),
        "keys of layer 0",
        "(2, 2, 3, 2)",
        "(2, 4, 3, 2)",
    ),
    "length": (lambda: decode_step(TOKENS, UNEVEN, *LLAMA), "keys of layer 1", "(2, 2, 3, 2)", "(2, 2, 1, 2)"),
    "width": (
        lambda: decode_step(TOKENS, with_narrow_values(after(TOKENS, LLAMA)), *LLAMA),
        "values of layer 0",
        "(2, 2, 3, 2)",
        "(2, 2, 3, 1)",
    ),
    "list": (lambda: decode_step(TOKENS, [after(TOKENS, LLAMA)], *LLAMA), "decode_step returned", "got list", "None"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong_what_was_received_and_what_to_do(name):
    call, *words = ERRORS[name]
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
