"""Qwen3 of transformers: norms of queries and keys, heads of 16 in a width of 40."""

from trained import trained
from transformers import Qwen3Config, Qwen3ForCausalLM


def build():
    config = Qwen3Config(
        vocab_size=83,
        hidden_size=40,
        intermediate_size=56,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    return trained(Qwen3ForCausalLM(config))
