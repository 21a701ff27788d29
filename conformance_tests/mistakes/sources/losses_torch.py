"""A correct implementation in PyTorch; the tests change one line at a time."""

from torch.nn import functional

framework = "torch"
dtypes = ("float32", "float64", "bfloat16")


def cross_entropy(logits, targets, *, ignore_index=-100, reduction=None):
    every_loss = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=ignore_index, reduction="none"
    )
    losses = every_loss.view(targets.shape)
    kept = targets != ignore_index
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / kept.sum()
