"""The loss of a causal language model in PyTorch, which pads the labels and shifts them; the tests change one line."""

import torch
from torch.nn import functional

framework = "torch"
dtypes = ("float32", "float64", "bfloat16")


def shifted(tokens, ignore_index):
    return functional.pad(tokens, (0, 1), value=ignore_index)[..., 1:]


def next_token_loss(logits, tokens, *, ignore_index=-100):
    labels = shifted(tokens, ignore_index)
    every_loss = functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=ignore_index, reduction="sum"
    )
    return every_loss / (labels != ignore_index).sum()


def next_token_loss_backward(logits, tokens, grad_output, *, ignore_index=-100):
    shift_labels = shifted(tokens, ignore_index)
    keep = shift_labels != ignore_index
    grad = torch.softmax(logits, dim=-1)
    ones = torch.ones_like(grad[..., :1])
    grad = grad.scatter_add(-1, shift_labels.where(keep, 0).unsqueeze(-1), -ones)
    grad = grad.masked_fill(~keep.unsqueeze(-1), 0.0)
    return grad * grad_output / keep.sum()
