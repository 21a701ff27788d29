"""Nucleus sampling: the probabilities of the tokens that may be drawn."""

import torch


def top_p_filter(probas, top_p=0.9):
    if top_p is None or top_p >= 1.0:
        return probas
    sorted_probas, sorted_idx = torch.sort(probas, dim=-1, descending=True)
    cumprobas = torch.cumsum(sorted_probas, dim=-1)
    keep = cumprobas - sorted_probas < top_p
    keep[..., 0] = True
    kept = torch.where(keep, sorted_probas, torch.zeros_like(sorted_probas))
    filtered = torch.zeros_like(probas).scatter(-1, sorted_idx, kept)
    return filtered / filtered.sum(dim=-1, keepdim=True).clamp_min(1e-12)
