"""Qwen2 of transformers: biases in q, k, v only; grouped keys; tied head."""

from trained import trained
from transformers import Qwen2Config, Qwen2ForCausalLM


def config():
    return Qwen2Config(
        vocab_size=101,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
    )


def build():
    return trained(Qwen2ForCausalLM(config()))
