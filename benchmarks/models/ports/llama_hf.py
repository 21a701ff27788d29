"""Llama of Hugging Face transformers: grouped queries, square query and output projections."""

import numpy as np
from drawing import redraw
from transformers import LlamaConfig, LlamaForCausalLM


def config():
    return LlamaConfig(
        vocab_size=89,
        hidden_size=48,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
        attn_implementation="eager",
    )


def build():
    return redraw(LlamaForCausalLM(config()))


def inputs():
    return np.random.default_rng(5).integers(3, 89, (2, 16))
