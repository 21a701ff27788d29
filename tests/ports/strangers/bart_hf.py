"""BART of transformers: encoder and decoder, post-norm, positions offset by two, a norm after the embeddings."""

import numpy as np
from trained import trained
from transformers import BartConfig, BartForConditionalGeneration


def build():
    config = BartConfig(
        vocab_size=71,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=40,
        scale_embedding=True,
        use_cache=False,
    )
    return trained(BartForConditionalGeneration(config))


def inputs():
    rng = np.random.default_rng(3)
    return {"input_ids": rng.integers(4, 71, (2, 11)), "decoder_input_ids": rng.integers(4, 71, (2, 7))}
