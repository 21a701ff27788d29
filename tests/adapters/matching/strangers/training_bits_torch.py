"""Bits of the training loop."""

import math
from typing import Iterable

import torch


def lm_cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Mean token loss. logits (..., V), targets (...) of class indices.

    Targets equal to ignore_index count neither in the sum nor in the mean; if all
    of them are ignored the loss is 0. With label smoothing eps the target
    distribution is (1 - eps) * onehot + eps / V.
    """
    V = logits.size(-1)
    logits = logits.reshape(-1, V)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    targets = targets.reshape(-1)

    keep = targets != ignore_index
    safe = torch.where(keep, targets, torch.zeros_like(targets))

    logp = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    nll = -logp.gather(1, safe[:, None]).squeeze(1)
    uniform = -logp.mean(dim=-1)
    loss = (1.0 - label_smoothing) * nll + label_smoothing * uniform
    loss = torch.where(keep, loss, torch.zeros_like(loss))
    return loss.sum() / keep.sum().clamp(min=1)


def cosine_lr(step: int, max_lr: float, min_lr: float, warmup_steps: int, total_steps: int) -> float:
    """Linear warm-up from 0 (step 0) to max_lr (step == warmup_steps), then a half
    cosine down to min_lr at total_steps, and min_lr from there on."""
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    if step >= total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + 0.5 * (max_lr - min_lr) * (1.0 + math.cos(math.pi * progress))


@torch.no_grad()
def clip_grad_norm(params: Iterable[torch.nn.Parameter], max_norm: float) -> torch.Tensor:
    """Scales all gradients in place so that their joint 2-norm is at most max_norm.
    Returns the norm before clipping."""
    grads = [p.grad for p in params if p.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = torch.sqrt(sum((g.detach().float() ** 2).sum() for g in grads))
    coef = max_norm / (total + 1e-6)
    if coef < 1.0:
        for g in grads:
            g.mul_(coef)
    return total
