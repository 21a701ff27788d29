"""The zoo: no model without a fault is accused, and a sample of the faults is caught, located and named."""

from __future__ import annotations

from types import ModuleType

import pytest

pytest.importorskip("torch")

MODELS = (
    "annotated_transformer",
    "bert_by_hand",
    "bloom_like",
    "einsum_gpt",
    "gemma2_like",
    "gpt_lecture",
    "gpt_oss_like",
    "gptj_like",
    "llama_by_hand",
    "llama_complex",
    "mistral_like",
    "nanogpt",
    "neox_like",
    "opt_like",
    "qwen3_like",
    "t5_like",
    "torch_captioner",
    "torch_classifier",
    "torch_encoder_lm",
    "torch_seq2seq",
    "vit",
)
# The model, and words of the fault's note. One fault for each way in which recognition finds one.
FAULTS = (
    ("nanogpt", "not divided by the root of the head's width"),
    ("nanogpt", "Layer 2 has no mask"),
    ("gpt_lecture", "Layer 1 has its keys for values"),
    ("llama_by_hand", "The first layer is skipped"),
    ("llama_complex", "Layer 1 has no positions"),
    ("llama_complex", "keys are paired by halves"),
    ("bert_by_hand", "Layer 0 takes its second residual before the norm"),
    ("gemma2_like", "The cap comes before the scale"),
    ("gemma2_like", "Layer 2, which has a window"),
    ("gpt_oss_like", "not limited from below"),
    ("gptj_like", "turned pairs are laid out as halves"),
    ("neox_like", "rotated channels of the keys"),
    ("bloom_like", "slopes are laid out by head"),
    ("bloom_like", "One x too many"),
    ("opt_like", "normalised over batch and heads"),
    ("einsum_gpt", "The weights are used transposed"),
    ("vit", "The patches are reshaped"),
    ("torch_encoder_lm", "The mask is not handed on"),
    ("torch_seq2seq", "The decoder has no positions"),
    ("torch_classifier", "The mean counts the padding"),
    ("gpt_lecture", "There is no output projection"),
    ("bert_by_hand", "There is no output projection"),
    ("bert_by_hand", "Queries, keys and values are split into heads without the transpose"),
    ("annotated_transformer", "The base is 1000"),
    ("mistral_like", "In layer 2 each token sees the next one"),
    ("t5_like", "The encoder is causal, and the decoder is not"),
    ("einsum_gpt", "The mean is that over the sequence"),
    ("qwen3_like", "The keys are normalised with the gain of the queries"),
)
FAULTS_IN_JAX = (
    ("jax_gpt", "The mean of the squares instead of the variance"),
    ("eqx_gpt", "Layer 2 adds its attention a second time"),
    ("keras_gpt", "The attention's output is dropped in evaluation mode too"),
)


@pytest.mark.parametrize("name", MODELS)
def test_model_without_fault_is_not_accused(model_faults: ModuleType, name: str) -> None:
    """Nothing departs, and at least 90 % of the intermediates are found."""
    found = next(iter(model_faults.unchanged([name], ("torch",), [0])))
    assert found.error == ""
    assert [one.sentence for one in found.departures] == []
    assert found.found >= 0.9


@pytest.mark.parametrize(("name", "words"), FAULTS, ids=[f"{name}-{words}" for name, words in FAULTS])
def test_fault_is_found_in_its_part(model_faults: ModuleType, name: str, words: str) -> None:
    """The first departure has the part, the step and, where the catalogue has one, the mistake of the fault."""
    (fault,) = (one for one in model_faults.planting.faults([name]) if words in one.note)
    outcome = model_faults.outcome(fault, 0)
    assert outcome.caught, outcome.complaint
    assert outcome.complaint == ""


@pytest.mark.parametrize(("name", "words"), FAULTS_IN_JAX, ids=[f"{name}-{words}" for name, words in FAULTS_IN_JAX])
def test_fault_in_jax_is_caught_in_its_part(model_faults: ModuleType, name: str, words: str) -> None:
    """What departs first, or is said to differ, has the part of the fault."""
    pytest.importorskip({"jax_gpt": "jax", "eqx_gpt": "equinox", "keras_gpt": "keras"}[name])
    (fault,) = (one for one in model_faults.planting.faults([name]) if words in one.note)
    outcome = model_faults.outcome(fault, 0)
    assert outcome.caught, outcome.complaint
    assert outcome.in_right_part, outcome.complaint


def test_aims_count_located_and_named(model_faults: ModuleType) -> None:
    """A fault that is caught in the wrong part does not reach the aims."""
    fault = model_faults.planting.faults(["nanogpt"])[0]
    right = model_faults.outcome(fault, 0)
    missed = model_faults.Outcome(fault, 0, None)
    assert model_faults.reaches_aims([right])
    assert not model_faults.reaches_aims([right, missed])
