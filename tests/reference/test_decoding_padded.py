"""Decoding with positions and a padding mask: each sample as alone, and what does not fit is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from veriformer.reference import configure, decode_step, language_model, weight_tree

SIZES = {"num_layers": 2, "d_model": 8, "num_heads": 4, "d_ff": 6, "vocabulary_size": 11, "max_length": 9}
TOKENS = np.array([[7, 7, 3, 1, 4], [2, 7, 1, 8, 2]])
LEFT = np.array([[False, False, True, True, True], [True] * 5])
BETWEEN = np.array([[True, False, False, True, True], [True, True, True, True, True]])


def made(architecture):
    config = configure(architecture, **SIZES)
    generator = np.random.default_rng(3)
    return weight_tree(config, lambda _, shape: generator.normal(size=shape) * 0.5), config


def decoded(model, cuts, mask=None, positions=None):
    weights, config = model
    logits, cache, start = [], None, 0
    for end in (*cuts, TOKENS.shape[1]):
        keywords = {} if mask is None else {"padding_mask": mask[:, :end]}
        keywords |= {} if positions is None else {"positions": positions[..., start:end]}
        found, cache = decode_step(TOKENS[:, start:end], cache, weights, config, **keywords)
        logits.append(found)
        start = end
    return np.concatenate(logits, axis=1)


@pytest.mark.parametrize("cuts", [(), (3,), (1, 2, 3, 4)])
@pytest.mark.parametrize("mask", [LEFT, BETWEEN])
@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_padding_changes_nothing_where_positions_count_real_tokens(architecture, mask, cuts):
    model = made(architecture)
    counted = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
    logits = decoded(model, cuts, mask, counted)
    for sample, real in enumerate(mask):
        alone = language_model(TOKENS[sample : sample + 1, real], *model)
        np.testing.assert_allclose(logits[sample, real], alone[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_the_mask_of_a_language_model_is_that_of_decoding(architecture):
    model = made(architecture)
    whole = language_model(TOKENS, *model, padding_mask=LEFT)
    np.testing.assert_allclose(decoded(model, (2, 4), LEFT)[LEFT], whole[LEFT], rtol=0, atol=1e-13)


def test_columns_as_positions_are_the_default():
    model = made("gpt")
    np.testing.assert_array_equal(decoded(model, (2,), positions=np.arange(5)), decoded(model, (2,)))


def test_learned_rows_are_those_of_the_positions():
    weights, config = made("gpt")
    order = np.array([8, 0, 3, 3, 1])
    moved = np.array(weights.positions)
    moved[:5] = weights.positions[order]
    other = weight_tree(config, lambda name, shape: moved if name == "positions" else np.ones(shape))
    plain = weight_tree(config, lambda name, shape: weights.positions if name == "positions" else np.ones(shape))
    got, _ = decode_step(TOKENS, None, plain, config, positions=order)
    np.testing.assert_array_equal(got, decode_step(TOKENS, None, other, config)[0])


GPT = made("gpt")
ERRORS = {
    "shape": ({"positions": np.arange(4)}, "positions must have shape (T,) or (B, T) = (2, 5)", "(4,)", "each token"),
    "kind": ({"positions": np.arange(5.0)}, "positions must hold integers", "float64", "integer dtype"),
    "negative": ({"positions": np.arange(5) - 1}, "must not be negative", "-1", "from 0"),
    "beyond": ({"positions": np.arange(5) + 5}, "9 rows of positions", "position 9", "more rows"),
    "mask": ({"padding_mask": LEFT[:, :4]}, "padding_mask, of all columns so far,", "(2, 5)", "(2, 4)"),
    "numbers": ({"padding_mask": LEFT * 1}, "must be boolean", "int64", "True at real tokens"),
}


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong_what_was_received_and_what_to_do(name):
    keywords, *words = ERRORS[name]
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        decode_step(TOKENS, None, *GPT, **keywords)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_mask_of_the_new_columns_alone_is_refused_behind_a_cache():
    _, cache = decode_step(TOKENS[:, :3], None, *GPT)
    with pytest.raises(ValueError, match=re.escape("(2, 5)")):
        decode_step(TOKENS[:, 3:], cache, *GPT, padding_mask=LEFT[:, 3:])
