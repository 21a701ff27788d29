"""OLMo 2 of transformers: norms after attention and network, queries and keys normed across all heads."""

from trained import trained
from transformers import Olmo2Config, Olmo2ForCausalLM


def build():
    config = Olmo2Config(
        vocab_size=63,
        eos_token_id=2,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-6,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        tie_word_embeddings=False,
        use_cache=False,
    )
    return trained(Olmo2ForCausalLM(config))
