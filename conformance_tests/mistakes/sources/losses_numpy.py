"""A correct implementation in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0, reduction="mean"):
    kept = np.ones(targets.shape, dtype=bool) if ignore_index is None else targets != ignore_index
    classes = np.where(kept, targets, 0)
    highest = logits.max(axis=-1, keepdims=True)
    distances = highest + np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True)) - logits
    of_targets = np.take_along_axis(distances, classes[..., None], axis=-1)[..., 0]
    share = logits.dtype.type(label_smoothing)
    every_loss = (1 - share) * of_targets + share * distances.mean(axis=-1)
    losses = every_loss * kept
    if reduction == "none":
        return losses
    total = losses.sum()
    return total if reduction == "sum" else total / kept.sum().astype(logits.dtype)
