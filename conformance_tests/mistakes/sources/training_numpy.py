"""A correct implementation in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0):
    kept = np.ones(targets.shape, dtype=bool) if ignore_index is None else targets != ignore_index
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_weights = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    classes = logits.shape[-1]
    one_hot = np.arange(classes) == targets[..., None]
    share = (one_hot * (1.0 - label_smoothing) + label_smoothing / classes).astype(logits.dtype)
    losses = -(share * log_weights).sum(axis=-1)
    return (losses * kept).sum() / kept.sum().astype(logits.dtype)


def token_embedding(tokens, table, *, scale_by_sqrt_d_model=False):
    rows = np.take(table, tokens, axis=0)
    if scale_by_sqrt_d_model:
        rows = rows * table.dtype.type(np.sqrt(table.shape[1]))
    return rows
