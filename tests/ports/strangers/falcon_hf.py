"""Falcon of transformers in its newer shape: two norms, groups of keys, attention and network in parallel."""

from trained import trained
from transformers import FalconConfig, FalconForCausalLM


def build():
    config = FalconConfig(
        vocab_size=65,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_kv_heads=2,
        new_decoder_architecture=True,
        bias=False,
        alibi=False,
        max_position_embeddings=64,
        use_cache=False,
    )
    return trained(FalconForCausalLM(config))
