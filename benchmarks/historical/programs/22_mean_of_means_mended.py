"""The loss of a batch that is computed in micro-batches of one sample."""

import torch
import torch.nn.functional as F


def cross_entropy(logits, targets, *, ignore_index=-100):
    """logits: (batch, length, vocabulary); targets: (batch, length)."""
    num_items = (targets != ignore_index).sum()
    loss = torch.zeros((), dtype=logits.dtype)
    for sample, wanted in zip(logits, targets):
        loss = loss + F.cross_entropy(sample, wanted, ignore_index=ignore_index, reduction="sum") / num_items
    return loss
