"""Llama 3 of Hugging Face transformers: base 500000, eps 1e-5, tied tables, one key head for every three query heads."""

import numpy as np
from drawing import redraw
from transformers import LlamaConfig, LlamaForCausalLM


def config():
    return LlamaConfig(
        vocab_size=97,
        hidden_size=36,
        intermediate_size=60,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=6,
        max_position_embeddings=40,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
        attn_implementation="sdpa",
    )


def build():
    return redraw(LlamaForCausalLM(config()))


def inputs():
    return np.random.default_rng(6).integers(3, 97, (2, 15))
