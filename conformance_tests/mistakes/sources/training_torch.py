"""A correct implementation in PyTorch; the tests change one line at a time."""

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0):
    kept = torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index
    log_weights = torch.log_softmax(logits, dim=-1)
    chosen = log_weights.gather(-1, targets.where(kept, 0)[..., None])[..., 0]
    losses = -(1.0 - label_smoothing) * chosen - label_smoothing * log_weights.mean(dim=-1)
    return losses[kept].mean()


def token_embedding(tokens, table, *, scale_by_sqrt_d_model=False):
    rows = table[tokens]
    return rows * table.shape[1] ** 0.5 if scale_by_sqrt_d_model else rows
