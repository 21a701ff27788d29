"""Cross-entropy in chunks, so that the logits are never in float32 all at once."""

import torch
import torch.nn.functional as F

CHUNK_LEN = 4


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    flat, labels = logits.flatten(0, 1), targets.flatten()
    losses = []
    for start in range(0, len(flat), CHUNK_LEN):
        part, wanted = flat[start : start + CHUNK_LEN].float(), labels[start : start + CHUNK_LEN]
        losses.append(F.cross_entropy(part, wanted, ignore_index=ignore_index, reduction=reduction))
    if reduction == "none":
        return torch.cat(losses).view(targets.shape).to(logits.dtype)
    return sum(losses).to(logits.dtype)
