"""Whisper of transformers: convolutions, sinusoids in the encoder, no bias in keys."""

import numpy as np
from trained import trained
from transformers import WhisperConfig, WhisperForConditionalGeneration


def build():
    config = WhisperConfig(
        vocab_size=63,
        num_mel_bins=10,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=12,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    return trained(WhisperForConditionalGeneration(config))


def inputs():
    rng = np.random.default_rng(9)
    return {
        "input_features": rng.normal(size=(2, 10, 24)).astype(np.float32),
        "decoder_input_ids": rng.integers(3, 63, (2, 7)),
    }
