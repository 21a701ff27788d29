"""Mixtral of transformers: four experts, two of them for each token."""

from trained import trained
from transformers import MixtralConfig, MixtralForCausalLM


def build():
    config = MixtralConfig(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=64,
        sliding_window=None,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        use_cache=False,
    )
    return trained(MixtralForCausalLM(config))
