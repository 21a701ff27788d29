"""The embedding of a text: the mean of its states."""

import torch


def mean_pooling(last_hidden_state, attention_mask):
    """last_hidden_state: (batch, length, width); attention_mask: 1 at tokens, 0 at padding."""
    mask = attention_mask.unsqueeze(-1).to(last_hidden_state.dtype)
    return last_hidden_state.mean(dim=1)
