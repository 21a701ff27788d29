"""The balance loss of a mixture of experts."""

import torch
import torch.nn.functional as F


def load_balance_loss(router_logits, top_k=2, alpha=0.01):
    """router_logits: (tokens, experts)."""
    probabilities = router_logits.softmax(dim=-1)
    experts = probabilities.shape[-1]
    chosen = F.one_hot(probabilities.topk(top_k, dim=-1).indices, experts).sum(dim=1).to(probabilities.dtype)
    fraction = chosen.mean(dim=0) / top_k
    importance = probabilities.mean(dim=0)
    return alpha * experts * (fraction * importance).sum()
