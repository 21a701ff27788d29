"""GPT-NeoX of Hugging Face transformers: a quarter of each head rotates, attention and feed-forward side by side."""

import numpy as np
from drawing import redraw
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM


def config():
    return GPTNeoXConfig(
        vocab_size=95,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=72,
        max_position_embeddings=32,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
        attn_implementation="eager",
    )


def build():
    return redraw(GPTNeoXForCausalLM(config()))


def inputs():
    return np.random.default_rng(8).integers(3, 95, (2, 15))
