"""Mistral of transformers from a bfloat16 checkpoint, with a window."""

import torch
from trained import trained
from transformers import MistralConfig, MistralForCausalLM


def build():
    config = MistralConfig(
        vocab_size=77,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=64,
        sliding_window=5,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="sdpa",
    )
    torch.set_default_dtype(torch.bfloat16)
    try:
        model = MistralForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    return trained(model)
