"""Cohere of transformers: one norm without shifts, parallel branches, interleaved rotations, scaled logits."""

from trained import trained
from transformers import CohereConfig, CohereForCausalLM


def build():
    config = CohereConfig(
        vocab_size=71,
        eos_token_id=2,
        hidden_size=32,
        intermediate_size=44,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        logit_scale=0.25,
        max_position_embeddings=64,
        use_cache=False,
    )
    return trained(CohereForCausalLM(config))
