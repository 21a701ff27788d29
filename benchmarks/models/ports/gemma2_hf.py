"""Gemma 2 of Hugging Face transformers: soft caps, four norms in a block, a window in the first layer only."""

import numpy as np
from drawing import redraw
from transformers import Gemma2Config, Gemma2ForCausalLM


def config():
    return Gemma2Config(
        vocab_size=87,
        hidden_size=40,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=10,
        query_pre_attn_scalar=14,
        sliding_window=5,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=4.0,
        rms_norm_eps=1e-6,
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
        attn_implementation="eager",
    )


def build():
    return redraw(Gemma2ForCausalLM(config()), zero_centred_gains=True)


def inputs():
    return np.random.default_rng(11).integers(3, 87, (2, 14))
