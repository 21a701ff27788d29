"""The text tower of CLIP in transformers: causal, quick GELU, the state of the last token projected."""

import numpy as np
from trained import trained
from transformers import CLIPTextConfig, CLIPTextModelWithProjection


def build():
    config = CLIPTextConfig(
        vocab_size=60,
        hidden_size=32,
        intermediate_size=52,
        projection_dim=20,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        eos_token_id=59,
        bos_token_id=0,
        pad_token_id=1,
    )
    return trained(CLIPTextModelWithProjection(config))


def inputs():
    ids = np.random.default_rng(5).integers(2, 58, (2, 10))
    ids[:, -1] = 59
    return {"input_ids": ids}
