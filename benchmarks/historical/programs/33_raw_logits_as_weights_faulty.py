"""Which experts a token goes to, and with which weights."""

import torch


def fused_topk(gating_output, topk=2, renormalize=False):
    """gating_output: (tokens, experts), the logits of the router."""
    logits, ids = torch.topk(gating_output.float(), topk, dim=-1)
    if renormalize:
        return torch.softmax(logits, dim=-1), ids
    weights = logits
    return weights, ids
