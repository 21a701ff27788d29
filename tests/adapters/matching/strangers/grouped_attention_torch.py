import torch
import torch.nn as nn
import torch.nn.functional as F


def grouped_attention(q, k, v, causal=False):
    """
    Grouped query attention (Ainslie et al. 2023).

    q        [batch, q_heads, seq, dim]
    k, v     [batch, kv_heads, seq, dim]

    The query heads are divided into kv_heads groups of consecutive heads; all the heads
    of a group use the same key/value head (query head i uses kv head i // group_size).
    """
    group_size = q.shape[1] // k.shape[1]
    k = k.repeat(1, group_size, 1, 1)
    v = v.repeat(1, group_size, 1, 1)
    sim = torch.einsum('b h i d, b h j d -> b h i j', q, k) * (q.shape[-1] ** -0.5)
    if causal:
        i, j = sim.shape[-2:]
        m = torch.ones(i, j, dtype=torch.bool, device=q.device).triu(j - i + 1)
        sim = sim.masked_fill(m, -torch.finfo(sim.dtype).max)
    attn = sim.softmax(dim=-1)
    return torch.einsum('b h i j, b h j d -> b h i d', attn, v)


class GQA(nn.Module):
    def __init__(self, dim, heads=8, kv_heads=2):
        super().__init__()
        assert dim % heads == 0 and heads % kv_heads == 0
        self.heads = heads
        self.kv_heads = kv_heads
        self.dim_head = dim // heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * kv_heads * self.dim_head, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, causal=True):
        b, n, _ = x.shape
        q = self.to_q(x).view(b, n, self.heads, self.dim_head).transpose(1, 2)
        k, v = self.to_kv(x).chunk(2, dim=-1)
        k = k.view(b, n, self.kv_heads, self.dim_head).transpose(1, 2)
        v = v.view(b, n, self.kv_heads, self.dim_head).transpose(1, 2)
        out = grouped_attention(q, k, v, causal=causal)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))
