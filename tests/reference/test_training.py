"""Training steps against PyTorch: its autograd, its loss and its AdamW, on models written with its functions."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.weights import convert_weights, member_at
from veriformer.conformance_tests import mistakes
from veriformer.conformance_tests.operations.models.trees import arrays_by_path
from veriformer.reference import ModelConventions, configure, training_steps, weight_tree
from veriformer.reference.model_weights import names_of, role_of

torch = pytest.importorskip("torch")

SOURCE = Path(mistakes.__file__).parent / "sources" / "training_steps_torch.py"
SETTINGS = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-2, "weight_decay": 0.1}
RATES = (0.0, 0.25, 0.125, 0.5)
PAIRS = ModelConventions(rotary_pairing="half")


def made(architecture):
    sizes = {"num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 6, "vocabulary_size": 5, "max_length": 6}
    groups = 1 if architecture == "llama" else 2
    config = configure(architecture, **sizes, num_kv_heads=groups, eps=1e-3)
    generator = np.random.default_rng(3)
    weights = weight_tree(config, lambda _, shape: 0.5 * generator.normal(size=shape))
    tokens = generator.integers(0, 5, (len(RATES), 2, 4))
    tokens[:, :, 1] = 3
    return tokens, weights, config


@pytest.mark.parametrize("chosen", [{}, {"ignore_index": 0}, {"ignore_index": 0, "micro_batches": 2}])
@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_they_lead_where_torch_does(architecture, chosen):
    tokens, weights, config = made(architecture)
    losses, trained = training_steps(
        tokens, weights, config, learning_rates=RATES, **SETTINGS, **chosen, conventions=PAIRS
    )
    by_torch = runpy.run_path(str(SOURCE))["training_steps"]
    given = convert_weights(weights, torch.tensor)
    expected, found = by_torch(torch.tensor(tokens), given, config, learning_rates=RATES, **SETTINGS, **chosen)
    np.testing.assert_allclose(losses, expected.numpy(), rtol=1e-12)
    for path, array in arrays_by_path(trained).items():
        np.testing.assert_allclose(array, member_at(found, path).numpy(), rtol=1e-10, atol=1e-13, err_msg=path)


@pytest.mark.parametrize(
    ("decayed", "spared"),
    [
        ("all", set()),
        ("matrices", {"gamma", "beta", "b_q", "b_k", "b_v", "b_o", "b_1", "b_2"}),
        (
            "matrices_without_embeddings",
            {"embedding", "positions", "gamma", "beta", "b_q", "b_k", "b_v", "b_o", "b_1", "b_2"},
        ),
        ("all_without_embeddings", {"embedding", "positions"}),
    ],
)
@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_what_is_spared_goes_where_it_would_without_a_decay(architecture, decayed, spared):
    """A first step adds the decay to what the gradients do, which are the same with and without one."""
    tokens, weights, config = made(architecture)
    given = {"learning_rates": (0.25,), "conventions": PAIRS}
    _, trained = training_steps(tokens[1:2], weights, config, **given, **SETTINGS, decayed=decayed)
    _, without = training_steps(tokens[1:2], weights, config, **given, **{**SETTINGS, "weight_decay": 0.0})
    before, after = arrays_by_path(weights), arrays_by_path(without)
    for path, array in arrays_by_path(trained).items():
        share = 0.0 if path.rpartition(".")[2] in spared else 0.25 * 0.1
        np.testing.assert_allclose(array, after[path] - share * before[path], rtol=0, atol=1e-15, err_msg=path)


def test_a_role_is_one_of_the_name_and_not_of_the_axes():
    _, weights, _ = made("llama")
    assert list(names_of(weights)) == [path.rpartition(".")[2] for path in arrays_by_path(weights)]
    roles = {"embedding": "table", "decoder_positions": "table", "unembedding": "matrix", "w_gate": "matrix"}
    roles |= {"gamma": "gain", "beta": "shift", "b_q": "bias"}
    assert {name: role_of(name) for name in roles} == roles


def test_twenty_steps_learn_a_batch():
    """The same batch twenty times: hardly ever does its loss rise, and in the end it is half of what it was."""
    tokens, weights, config = made("gpt")
    batches = np.repeat(tokens[:1], 20, axis=0)
    losses, _ = training_steps(batches, weights, config, learning_rates=(0.02,) * 20, **SETTINGS)
    assert losses[-1] < losses[0] / 2.0
    assert np.all(np.diff(losses) < 0.01)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"learning_rates": (0.1,)}, "one for each batch of tokens, and at least one; got 1 for 4 batches"),
        ({"micro_batches": 3}, "the batch B"),
        ({"micro_batches": 0}, "micro_batches"),
        ({"ignore_index": 0, "tokens": np.zeros((4, 2, 4), dtype=int)}, "target"),
    ],
)
def test_bad_input_is_refused(changed, words):
    tokens, weights, config = made("gpt")
    given = {"tokens": tokens, "learning_rates": RATES, **SETTINGS, **changed}
    with pytest.raises(ValueError, match=words):
        training_steps(given.pop("tokens"), weights, config, **given)
