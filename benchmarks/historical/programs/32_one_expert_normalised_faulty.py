"""The router of a sparse layer."""

import torch


def top_k_scores(scores, k):
    if k == 1:
        return scores.max(dim=-1)
    return torch.topk(scores, k, dim=-1)


def router(logits, top_k=1, p=1):
    """logits: (tokens, experts); the weights and numbers of the chosen experts."""
    scores = logits.softmax(dim=-1)
    expert_weights, expert_indices = top_k_scores(scores, top_k)
    expert_weights = expert_weights / torch.norm(expert_weights, p=p, dim=-1, keepdim=True)
    return expert_weights, expert_indices
