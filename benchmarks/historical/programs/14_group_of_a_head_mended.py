"""Grouped-query attention, one query head after another as a simulator issues them."""

import torch


def grouped_query_attention(query, key, value):
    heads, kv_heads = query.shape[1], key.shape[1]
    out = []
    for head_idx in range(heads):
        kv_head_idx = head_idx // (heads // kv_heads)
        q, k, v = query[:, head_idx], key[:, kv_head_idx], value[:, kv_head_idx]
        scores = torch.bmm(q, k.mT) * q.shape[-1] ** -0.5
        out.append(torch.bmm(scores.softmax(dim=-1), v))
    return torch.stack(out, dim=1)
