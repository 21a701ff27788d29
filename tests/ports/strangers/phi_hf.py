"""Phi of transformers: parallel blocks, partial rotary embedding, biases everywhere."""

from trained import trained
from transformers import PhiConfig, PhiForCausalLM


def build():
    config = PhiConfig(
        vocab_size=79,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=3,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        qk_layernorm=False,
    )
    return trained(PhiForCausalLM(config))
