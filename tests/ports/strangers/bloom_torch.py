"""BLOOM in torch, one Linear each for queries, keys and values."""

import math

import bloom_hf
import torch
from torch import nn


def get_slopes(n):
    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_2(closest) + get_slopes(2 * closest)[0::2][: n - closest]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width) for _ in range(3))
        self.to_out = nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (
            f(x).view(b, n, self.heads, self.size).permute(0, 2, 1, 3) for f in (self.to_q, self.to_k, self.to_v)
        )
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * self.size**-0.5
        i = torch.arange(n)
        slopes = torch.tensor(get_slopes(self.heads), dtype=x.dtype)[:, None, None]
        sim = sim + slopes * (i[None, :] - i[:, None])
        sim = sim.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.finfo(sim.dtype).max)
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)
        return self.to_out(out.permute(0, 2, 1, 3).reshape(b, n, c))


class BloomGelu(nn.Module):
    def forward(self, x):
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 4 * width), BloomGelu(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.attn(self.ln1(x)) + x
        return self.ff(self.ln2(x)) + x


class Bloom(nn.Module):
    def __init__(self, vocab=73, width=48, heads=6, depth=2):
        super().__init__()
        self.emb, self.emb_ln = nn.Embedding(vocab, width), nn.LayerNorm(width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.ln_f, self.to_logits = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, x):
        x = self.emb_ln(self.emb(x))
        for block in self.blocks:
            x = block(x)
        return self.to_logits(self.ln_f(x))


def build():
    old, model = bloom_hf.build().state_dict(), Bloom()
    new = {"emb.weight": old["transformer.word_embeddings.weight"], "to_logits.weight": old["lm_head.weight"]}
    for end in ("weight", "bias"):
        new[f"emb_ln.{end}"] = old[f"transformer.word_embeddings_layernorm.{end}"]
        new[f"ln_f.{end}"] = old[f"transformer.ln_f.{end}"]
        for i in range(2):
            a, b = f"transformer.h.{i}", f"blocks.{i}"
            fused = old[f"{a}.self_attention.query_key_value.{end}"]
            q, k, v = fused.reshape(6, 3, 8, *fused.shape[1:]).unbind(1)
            new[f"{b}.attn.to_q.{end}"] = q.flatten(0, 1)
            new[f"{b}.attn.to_k.{end}"] = k.flatten(0, 1)
            new[f"{b}.attn.to_v.{end}"] = v.flatten(0, 1)
            new[f"{b}.attn.to_out.{end}"] = old[f"{a}.self_attention.dense.{end}"]
            new[f"{b}.ln1.{end}"] = old[f"{a}.input_layernorm.{end}"]
            new[f"{b}.ln2.{end}"] = old[f"{a}.post_attention_layernorm.{end}"]
            new[f"{b}.ff.0.{end}"] = old[f"{a}.mlp.dense_h_to_4h.{end}"]
            new[f"{b}.ff.2.{end}"] = old[f"{a}.mlp.dense_4h_to_h.{end}"]
    model.load_state_dict(new)
    return model.eval()
