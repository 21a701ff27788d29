"""T5 of the second release in transformers: gated networks, buckets of distances, an unembedding of its own."""

import numpy as np
from trained import trained
from transformers import T5Config, T5ForConditionalGeneration


def build():
    config = T5Config(
        vocab_size=69,
        d_model=32,
        d_kv=10,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=3,
        relative_attention_num_buckets=12,
        relative_attention_max_distance=24,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        use_cache=False,
    )
    return trained(T5ForConditionalGeneration(config))


def inputs():
    rng = np.random.default_rng(4)
    return {"input_ids": rng.integers(2, 69, (2, 12)), "decoder_input_ids": rng.integers(2, 69, (2, 8))}
