"""Attention as a plain function, beside fused kernels."""

import torch
from torch import nn


def eager_attention_forward(query, key, value, attention_mask=None, scaling=None):
    if scaling is None:
        scaling = query.size(-1) ** -0.5
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        causal_mask = attention_mask[:, :, :, : key.shape[-2]] if attention_mask.dim() == 4 else attention_mask
        if causal_mask.dtype == torch.bool:
            causal_mask = torch.where(causal_mask, 0.0, torch.finfo(query.dtype).min).to(query.dtype)
        attn_weights = attn_weights + causal_mask
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(attn_weights, value)
