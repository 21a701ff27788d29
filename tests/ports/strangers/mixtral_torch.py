"""Mixtral in torch in the style of Mistral's own reference: interleaved rotary pairs, experts in a loop."""

import mixtral_hf
import torch
from torch import nn
from torch.nn import functional as F


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoeLayer(nn.Module):
    def __init__(self, dim, hidden, n, top):
        super().__init__()
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(n)])
        self.gate = nn.Linear(dim, n, bias=False)
        self.top = top

    def forward(self, inputs):
        flat = inputs.view(-1, inputs.shape[-1])
        logits = self.gate(flat)
        weights, selected = torch.topk(logits, self.top)
        weights = F.softmax(weights, dim=1)
        results = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, nth = torch.where(selected == i)
            results[token] += weights[token, nth, None] * expert(flat[token])
        return results.view_as(inputs)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, theta=10000.0):
    n, d = x.shape[1], x.shape[-1]
    freqs = 1.0 / (theta ** (torch.arange(0, d, 2, dtype=torch.float64) / d))
    cis = torch.polar(torch.ones(n, d // 2, dtype=torch.float64), torch.outer(torch.arange(n).double(), freqs))
    z = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * cis[:, None]).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, dim, heads, kv):
        super().__init__()
        self.heads, self.kv, self.size = heads, kv, dim // heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, kv * self.size, bias=False)
        self.wv = nn.Linear(dim, kv * self.size, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = rotate(self.wq(x).view(b, n, self.heads, self.size))
        k = rotate(self.wk(x).view(b, n, self.kv, self.size))
        v = self.wv(x).view(b, n, self.kv, self.size)
        k, v = (torch.repeat_interleave(t, self.heads // self.kv, dim=2) for t in (k, v))
        out = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(b, n, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(32, 4, 2), MoeLayer(32, 40, 4, 2)
        self.attention_norm, self.ffn_norm = RMSNorm(32), RMSNorm(32)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Mixtral(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(61, 32)
        self.layers = nn.ModuleList([Block() for _ in range(2)])
        self.norm, self.output = RMSNorm(32), nn.Linear(32, 61, bias=False)

    def forward(self, input_ids):
        h = self.tok_embeddings(input_ids)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def permute(w, heads):
    """From half pairs to interleaved pairs."""
    return w.view(heads, 2, w.shape[0] // heads // 2, w.shape[1]).transpose(1, 2).reshape(w.shape)


def convert(sd):
    new = {
        "tok_embeddings.weight": sd["model.embed_tokens.weight"],
        "norm.weight": sd["model.norm.weight"],
        "output.weight": sd["lm_head.weight"],
    }
    for i in range(2):
        a, b = f"model.layers.{i}.", f"layers.{i}."
        new[b + "attention.wq.weight"] = permute(sd[a + "self_attn.q_proj.weight"], 4)
        new[b + "attention.wk.weight"] = permute(sd[a + "self_attn.k_proj.weight"], 2)
        new[b + "attention.wv.weight"] = sd[a + "self_attn.v_proj.weight"]
        new[b + "attention.wo.weight"] = sd[a + "self_attn.o_proj.weight"]
        new[b + "attention_norm.weight"] = sd[a + "input_layernorm.weight"]
        new[b + "ffn_norm.weight"] = sd[a + "post_attention_layernorm.weight"]
        new[b + "feed_forward.gate.weight"] = sd[a + "mlp.gate.weight"]
        for e in range(4):
            w1, w3 = sd[a + "mlp.experts.gate_up_proj"][e].chunk(2, dim=0)
            new[f"{b}feed_forward.experts.{e}.w1.weight"] = w1
            new[f"{b}feed_forward.experts.{e}.w3.weight"] = w3
            new[f"{b}feed_forward.experts.{e}.w2.weight"] = sd[a + "mlp.experts.down_proj"][e]
    return new


def build():
    model = Mixtral()
    model.load_state_dict(convert(mixtral_hf.build().state_dict()))
    return model.eval()
