"""A trainer's own mixture of experts: all experts of a layer in three tensors, tokens sorted by expert."""

import importlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class TokenChoiceTopKRouter(nn.Module):
    def __init__(self, dim, num_experts, top_k, route_scale):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts, bias=False)
        self.register_buffer("expert_bias", torch.zeros(num_experts))
        self.top_k, self.route_scale = top_k, route_scale

    def forward(self, x):
        scores = torch.sigmoid(self.gate(x))
        _, selected = torch.topk(scores + self.expert_bias, k=self.top_k, dim=1)
        top_scores = scores.gather(dim=1, index=selected)
        return top_scores * self.route_scale, selected


class MoE(nn.Module):
    def __init__(self, dim=32, hidden=24, num_experts=6, top_k=2):
        super().__init__()
        self.router = TokenChoiceTopKRouter(dim, num_experts, top_k, 2.5)
        self.w1 = nn.Parameter(torch.empty(num_experts, hidden, dim))
        self.w2 = nn.Parameter(torch.empty(num_experts, dim, hidden))
        self.w3 = nn.Parameter(torch.empty(num_experts, hidden, dim))
        self.shared_w1, self.shared_w3 = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.shared_w2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        top_scores, selected = self.router(tokens)
        order = selected.flatten().argsort(stable=True)
        source = order // selected.shape[1]
        sizes = selected.flatten().bincount(minlength=len(self.w1)).tolist()
        parts = tokens[source].split(sizes)
        routed = torch.cat([(F.silu(p @ a.T) * (p @ c.T)) @ b.T for p, a, b, c in zip(parts, self.w1, self.w2, self.w3)])
        routed = routed * top_scores.flatten()[order].unsqueeze(-1)
        out = self.shared_w2(F.silu(self.shared_w1(tokens)) * self.shared_w3(tokens))
        return out.index_add(0, source, routed).view_as(x)


class Block(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim, eps=1e-6), nn.RMSNorm(dim, eps=1e-6)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.moe = MoE()

    def forward(self, x):
        y = self.attention_norm(x)
        q, k, v = (f(y).view(*y.shape[:2], 4, 8).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
        x = x + self.wo(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.moe(self.ffn_norm(x))


class Transformer(nn.Module):
    def __init__(self, dim=32, layers=2, vocab=60):
        super().__init__()
        self.tok_embeddings, self.pos_embeddings = nn.Embedding(vocab, dim), nn.Embedding(64, dim)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(dim, eps=1e-6), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings.weight[: tokens.shape[1]]
        for block in self.blocks:
            h = block(h)
        return self.output(self.norm(h))


def from_hf(state):
    new = {"tok_embeddings.weight": state["embed.weight"], "pos_embeddings.weight": state["positions.weight"]}
    new |= {"norm.weight": state["norm.weight"], "output.weight": state["head.weight"]}
    for i in range(2):
        at, to = f"layers.{i}.", f"blocks.{i}."
        for name, part in zip(("wq", "wk", "wv"), state[at + "attn.qkv_proj.weight"].chunk(3)):
            new[f"{to}{name}.weight"] = part
        new[to + "wo.weight"] = state[at + "attn.o_proj.weight"]
        new[to + "attention_norm.weight"], new[to + "ffn_norm.weight"] = state[at + "norm1.weight"], state[at + "norm2.weight"]
        new[to + "moe.router.gate.weight"] = state[at + "moe.gate.weight"]
        new[to + "moe.router.expert_bias"] = state[at + "moe.e_score_correction_bias"]
        for name, theirs in (("w1", "gate_proj"), ("w2", "down_proj"), ("w3", "up_proj")):
            new[f"{to}moe.{name}"] = torch.stack([state[f"{at}moe.experts.{e}.{theirs}.weight"] for e in range(6)])
            new[f"{to}moe.shared_{name}.weight"] = state[f"{at}moe.shared.{theirs}.weight"]
    return new


def build():
    model = Transformer()
    model.load_state_dict(from_hf(importlib.import_module("06_router_not_normalised_original").build().state_dict()))
    return model.eval()
