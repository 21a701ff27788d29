"""Functions of vectors as a PyTorch user writes them."""

import math

import torch

framework = "torch"


def softmax(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    up = shifted.exp()
    return up / up.sum(dim=-1, keepdim=True)


def layer_norm(h, scale, offset, eps):
    mu = h.mean(dim=-1, keepdim=True)
    var = (h - mu).square().mean(dim=-1, keepdim=True)
    return scale * (h - mu) * torch.rsqrt(var + eps) + offset


def rms_norm(h, scale, eps):
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * scale


def gelu(h):
    return 0.5 * h * (1 + torch.erf(h / math.sqrt(2.0)))


def gated_feed_forward(h, weights, *, activation):
    act = {"silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "relu": torch.relu}.get(activation)
    act = act or torch.sigmoid
    p = weights
    gate, up = h @ p.w_gate, h @ p.w_up
    return (act(gate) * up) @ p.w_down


def cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0):
    logp = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    keep = torch.ones_like(targets, dtype=torch.bool)
    if ignore_index is not None:
        keep = targets != ignore_index
    safe = torch.where(keep, targets, torch.zeros_like(targets)).long()
    picked = logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    nll = -((1 - label_smoothing) * picked + label_smoothing * logp.mean(dim=-1))
    return (nll * keep).sum() / keep.sum()
