"""Multi-head and grouped attention written with einops."""

import torch
from einops import rearrange, repeat

framework = "torch"
dtypes = ("float32", "float64")


def grouped_query_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    groups = query.shape[1] // key.shape[1]
    q = rearrange(query, "b (g r) l d -> b g r l d", r=groups)
    scores = torch.einsum("b g r l d, b g s d -> b g r l s", q, key)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = rearrange(scores, "b g r l s -> b (g r) l s")
    if is_causal:
        i, j = scores.shape[-2:]
        scores = scores.masked_fill(~torch.ones(i, j, dtype=torch.bool).tril(), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    attention = scores.softmax(dim=-1)
    return torch.einsum("b h l s, b h s d -> b h l d", attention, repeat(value, "b g s d -> b (g r) s d", r=groups))


def multi_head_attention(x, context, weights, *, num_heads, mask=None, is_causal=False):
    def project(inputs, weight, bias):
        y = torch.einsum("b n e, e f -> b n f", inputs, weight)
        return rearrange(y if bias is None else y + bias, "b n (h d) -> b h n d", h=num_heads)

    q = project(x, weights.w_q, weights.b_q)
    k = project(context, weights.w_k, weights.b_k)
    v = project(context, weights.w_v, weights.b_v)
    y = (
        rearrange(grouped_query_attention(q, k, v, mask=mask, is_causal=is_causal), "b h l d -> b l (h d)")
        @ weights.w_o
    )
    return y if weights.b_o is None else y + weights.b_o
