"""Weights that look trained: gains near one, biases near zero, none exactly so."""

import torch


def trained(model, seed=0):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=g, dtype=torch.float32)
            if p.ndim == 1:
                p.add_(0.2 * noise)
            elif "emb" in name or "wte" in name or "wpe" in name or "shared" in name:
                p.copy_(0.5 * noise)
            else:
                p.copy_(noise / p.shape[-1] ** 0.5)
    return model.eval()
