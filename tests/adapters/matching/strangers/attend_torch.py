from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import einsum, nn

Intermediates = namedtuple('Intermediates', ['qk_similarities', 'pre_softmax_attn', 'post_softmax_attn'])

# helpers

def exists(val):
    return val is not None

def default(val, d):
    return val if exists(val) else d

def max_neg_value(t):
    return -torch.finfo(t.dtype).max

def create_causal_mask(i, j, device):
    # True where the key comes after the query; the queries are the last i of the j positions
    return torch.ones((i, j), device=device, dtype=torch.bool).triu(j - i + 1)

# main class

class Attend(nn.Module):
    """
    q, k, v: (b, h, n, d)
    mask: (b, j) or (b, 1, i, j), bool, True where a query may attend. Every query must have a key left.

    einstein notation: b - batch, h - heads, n, i, j - sequence length (base, source, target), d - feature dimension
    """

    def __init__(self, *, dropout=0., causal=False, scale=None):
        super().__init__()
        self.scale = scale
        self.causal = causal
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        n, device = q.shape[-2], q.device
        scale = default(self.scale, q.shape[-1] ** -0.5)

        sim = einsum('b h i d, b h j d -> b h i j', q, k) * scale
        qk_similarities = sim.clone()

        if exists(mask):
            if mask.ndim == 2:
                mask = mask[:, None, None, :]
            sim = sim.masked_fill(~mask, max_neg_value(sim))

        if self.causal:
            i, j = sim.shape[-2:]
            sim = sim.masked_fill(create_causal_mask(i, j, device), max_neg_value(sim))

        pre_softmax_attn = sim.clone()
        attn = F.softmax(sim, dim=-1)
        post_softmax_attn = attn.clone()
        attn = self.attn_dropout(attn)

        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        return out, Intermediates(qk_similarities, pre_softmax_attn, post_softmax_attn)

# norms

class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale * self.g

class GLU(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.proj = nn.Linear(dim_in, dim_out * 2)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)
