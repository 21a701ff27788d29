"""The balance loss of a mixture of experts."""

import torch
import torch.nn.functional as F


def load_balance_loss(router_logits, top_k=2, alpha=0.1):
    """router_logits: (tokens, experts)."""
    scores = router_logits.softmax(dim=-1)
    experts = scores.shape[-1]
    topk_idx = scores.topk(top_k, dim=-1).indices
    load = F.one_hot(topk_idx, experts).float().mean(dim=(0, 1))
    return (load * scores.mean(dim=0)).sum() * experts * alpha
