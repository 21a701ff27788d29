"""Tiny, randomly initialised models of Hugging Face's transformers, which the check of whole models should pass.

    python benchmarks/models/huggingface.py [--model GLOB ...]

Runs one forward pass of each, with eager attention and with torch's fused one where the model has it. Prints the shape
of the outputs; exit status 1 where a model raises or returns what is not finite.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
import transformers
from huggingface_families import FAMILIES

BATCH, LENGTH, SOURCE_LENGTH = 2, 11, 13
ATTENTIONS = ("eager", "sdpa")


@dataclass(frozen=True)
class TinyModel:
    """A model of transformers with a tiny configuration; `builder` and `config` are names in that library."""

    builder: str
    config: str
    options: dict[str, Any]
    attentions: tuple[str, ...] = ATTENTIONS
    encoder_decoder: bool = False
    takes: str = "tokens"

    def build(self, attention: str = "eager") -> Any:
        """Return the model, in the state a user has it in after construction."""
        config = getattr(transformers, self.config)(**self.options)
        torch.manual_seed(0)
        return getattr(transformers, self.builder)._from_config(config, attn_implementation=attention)

    def inputs(self) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Return tokens, images or spectra for one forward pass."""
        generator = np.random.default_rng(0)
        if self.takes == "image":
            size = self.options["image_size"]
            return {"pixel_values": generator.normal(size=(BATCH, 3, size, size)).astype(np.float32)}
        vocabulary = self.options["vocab_size"]

        def tokens(length: int) -> np.ndarray[Any, np.dtype[np.int64]]:
            # Low numbers may be special tokens, such as padding.
            return generator.integers(5, vocabulary, (BATCH, length))

        if self.takes == "spectrum":
            # The first convolutions of a model of speech halve the length.
            spectrum = generator.normal(size=(BATCH, self.options["num_mel_bins"], 2 * SOURCE_LENGTH))
            return {"input_features": spectrum.astype(np.float32), "decoder_input_ids": tokens(LENGTH)}
        if self.encoder_decoder:
            return {"input_ids": tokens(SOURCE_LENGTH), "decoder_input_ids": tokens(LENGTH)}
        return {"input_ids": tokens(LENGTH)}


def _llama_like(**options: Any) -> dict[str, Any]:
    """Return options that Llama and its relatives share; special tokens are within the small vocabulary."""
    shared = {
        "hidden_size": 40,
        "intermediate_size": 76,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {**shared, **options}


def _gpt2(activation: str) -> dict[str, Any]:
    sizes = {"vocab_size": 61, "n_positions": 19, "n_embd": 40, "n_layer": 3, "n_head": 4}
    return {**sizes, "activation_function": activation, "bos_token_id": 1, "eos_token_id": 2}


MODELS: dict[str, TinyModel] = {
    "gpt2": TinyModel("GPT2LMHeadModel", "GPT2Config", _gpt2("gelu_new")),
    "gpt2_erf": TinyModel("GPT2LMHeadModel", "GPT2Config", _gpt2("gelu")),
    "llama": TinyModel("LlamaForCausalLM", "LlamaConfig", _llama_like(vocab_size=67)),
    "bert": TinyModel(
        "BertForMaskedLM",
        "BertConfig",
        {
            "vocab_size": 71,
            "hidden_size": 36,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 82,
            "max_position_embeddings": 24,
            "type_vocab_size": 2,
        },
    ),
    "mistral": TinyModel("MistralForCausalLM", "MistralConfig", _llama_like(vocab_size=77, sliding_window=5)),
    "gemma2": TinyModel(
        "Gemma2ForCausalLM",
        "Gemma2Config",
        _llama_like(vocab_size=85, head_dim=12, query_pre_attn_scalar=14, sliding_window=4, num_hidden_layers=4),
        attentions=("eager",),  # the fused attention has no soft cap
    ),
    "qwen3": TinyModel("Qwen3ForCausalLM", "Qwen3Config", _llama_like(vocab_size=93, head_dim=14)),
    "gpt_neox": TinyModel(
        "GPTNeoXForCausalLM",
        "GPTNeoXConfig",
        {
            "vocab_size": 95,
            "hidden_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 86,
            "max_position_embeddings": 32,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
    ),
    "t5": TinyModel(
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "vocab_size": 89,
            "d_model": 34,
            "d_kv": 10,
            "d_ff": 62,
            "num_layers": 3,
            "num_heads": 4,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 20,
            "decoder_start_token_id": 0,
        },
        encoder_decoder=True,
    ),
    "bart": TinyModel(
        "BartForConditionalGeneration",
        "BartConfig",
        {
            "vocab_size": 73,
            "d_model": 32,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 70,
            "decoder_ffn_dim": 66,
            "max_position_embeddings": 26,
            "forced_eos_token_id": None,
        },
        encoder_decoder=True,
    ),
    "bloom": TinyModel(
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": 91, "hidden_size": 42, "n_layer": 3, "n_head": 3},
        attentions=("eager",),  # its only one
    ),
    "opt": TinyModel(
        "OPTForCausalLM",
        "OPTConfig",
        {
            "vocab_size": 69,
            "hidden_size": 36,
            "word_embed_proj_dim": 20,
            "num_hidden_layers": 3,
            "ffn_dim": 98,
            "num_attention_heads": 2,
            "max_position_embeddings": 30,
        },
    ),
    "phi": TinyModel(
        "PhiForCausalLM",
        "PhiConfig",
        _llama_like(vocab_size=63, partial_rotary_factor=0.4, num_key_value_heads=4),
    ),
    **{name: TinyModel(**family) for name, family in FAMILIES.items()},
}


def variants() -> dict[str, Callable[[], Any]]:
    """Return a builder for each model and attention, by a name such as llama_sdpa."""
    every = ((name, model, attention) for name, model in MODELS.items() for attention in model.attentions)
    return {f"{name}_{attention}": _builder(model, attention) for name, model, attention in every}


def _builder(model: TinyModel, attention: str) -> Callable[[], Any]:
    return lambda: model.build(attention)


def outputs(model: TinyModel, attention: str) -> Any:
    """Return the logits of one forward pass, in evaluation mode."""
    network = model.build(attention).eval()
    with torch.no_grad():
        found = network(**{name: torch.as_tensor(array) for name, array in model.inputs().items()})
        return found.logits if hasattr(found, "logits") else found[0]


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each model and attention."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", nargs="*", default=["*"])
    globs = parser.parse_args(words).model
    failed = 0
    for name, model in MODELS.items():
        if not any(fnmatchcase(name, glob) for glob in globs):
            continue
        for attention in model.attentions:
            try:
                logits = outputs(model, attention)
                good, told = bool(logits.isfinite().all()), str(tuple(logits.shape))
            except Exception as error:  # whatever the library raises belongs in the table
                good, told = False, f"{type(error).__name__}: {error}"
            failed += not good
            print(f"{name:10} {attention:6} {'runs' if good else 'FAILS'}  {told}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
