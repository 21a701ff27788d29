"""DistilBERT of transformers for sequence classification, with a mask."""

import numpy as np
from trained import trained
from transformers import DistilBertConfig, DistilBertForMaskedLM


def build():
    config = DistilBertConfig(vocab_size=69, dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=24)
    return trained(DistilBertForMaskedLM(config))


def inputs():
    rng = np.random.default_rng(8)
    mask = np.ones((2, 10), dtype=np.int64)
    mask[1, 7:] = 0
    return {"input_ids": rng.integers(1, 69, (2, 10)), "attention_mask": mask}
