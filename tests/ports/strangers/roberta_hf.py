"""RoBERTa of transformers with its head for masked words; positions are counted from padding_idx + 1."""

import numpy as np
from trained import trained
from transformers import RobertaConfig, RobertaForMaskedLM


def build():
    config = RobertaConfig(
        vocab_size=67,
        hidden_size=36,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=50,
        max_position_embeddings=34,
        type_vocab_size=1,
        pad_token_id=1,
        layer_norm_eps=1e-5,
    )
    return trained(RobertaForMaskedLM(config))


def inputs():
    rng = np.random.default_rng(8)
    ids = rng.integers(3, 67, (2, 11))
    mask = np.ones((2, 11), dtype=np.int64)
    ids[1, 8:], mask[1, 8:] = 1, 0
    return {"input_ids": ids, "attention_mask": mask}
