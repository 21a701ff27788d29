"""BERT of Hugging Face transformers, with a padded second sentence."""

import numpy as np
from drawing import redraw
from transformers import BertConfig, BertForMaskedLM


def config():
    return BertConfig(
        vocab_size=71,
        hidden_size=36,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=64,
        max_position_embeddings=24,
        type_vocab_size=2,
        attn_implementation="eager",
    )


def build():
    return redraw(BertForMaskedLM(config()))


def inputs():
    tokens = np.random.default_rng(7).integers(5, 71, (2, 13))
    attended = np.ones((2, 13), dtype=np.int64)
    attended[1, 9:] = 0
    return tokens, attended
