"""OPT of transformers: positions from row 2, ReLU."""

from trained import trained
from transformers import OPTConfig, OPTForCausalLM


def build():
    config = OPTConfig(
        vocab_size=67,
        hidden_size=32,
        word_embed_proj_dim=32,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=40,
        use_cache=False,
    )
    return trained(OPTForCausalLM(config))
