"""Gemma of transformers: one head of keys and values, gains stored from zero, embeddings times √d."""

from trained import trained
from transformers import GemmaConfig, GemmaForCausalLM


def build():
    config = GemmaConfig(
        vocab_size=73,
        hidden_size=32,
        intermediate_size=56,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=12,
        max_position_embeddings=64,
        use_cache=False,
    )
    return trained(GemmaForCausalLM(config))
