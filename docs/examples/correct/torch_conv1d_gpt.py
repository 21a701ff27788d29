"""GPT-2 with one fused projection of query, key and value that is kept as (in, out), and the tanh form of GELU."""

import math

import torch
from torch import nn

framework = "torch"
architectures = {"language_model": ("gpt",)}


class Conv1D(nn.Module):
    def __init__(self, weight, bias):
        super().__init__()
        self.nf = weight.shape[1]
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        return torch.addmm(self.bias, x.reshape(-1, x.size(-1)), self.weight).view(size_out)


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Attention(nn.Module):
    def __init__(self, weights, n_head):
        super().__init__()
        self.n_head = n_head
        fused = torch.cat([weights.w_q, weights.w_k, weights.w_v], dim=1)
        self.c_attn = Conv1D(fused, torch.cat([weights.b_q, weights.b_k, weights.b_v]))
        self.c_proj = Conv1D(weights.w_o, weights.b_o)

    def forward(self, x, keep):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = torch.where(keep, att, torch.finfo(att.dtype).min)
        y = att.softmax(dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class MLP(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(weights.w_1, weights.b_1), Conv1D(weights.w_2, weights.b_2)
        self.act = NewGELU()

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, layer, config):
        super().__init__()
        self.ln_1, self.ln_2 = norm(layer.norm_1, config.eps), norm(layer.norm_2, config.eps)
        self.attn, self.mlp = Attention(layer.self_attention, config.num_heads), MLP(layer.feed_forward)

    def forward(self, x, keep):
        x = x + self.attn(self.ln_1(x), keep)
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self, weights, config):
        super().__init__()
        self.wte = nn.Embedding.from_pretrained(weights.embedding)
        self.wpe = nn.Embedding.from_pretrained(weights.positions)
        self.h = nn.ModuleList(Block(layer, config) for layer in weights.layers)
        self.ln_f = norm(weights.final_norm, config.eps)

    def forward(self, input_ids, attention_mask=None):
        T = input_ids.shape[1]
        keep = torch.ones(T, T, dtype=torch.bool).tril()[None, None]
        if attention_mask is not None:
            keep = keep & attention_mask[:, None, None, :]
        x = self.wte(input_ids) + self.wpe(torch.arange(T))
        for block in self.h:
            x = block(x, keep)
        return self.ln_f(x) @ self.wte.weight.T


def norm(weights, eps):
    module = nn.LayerNorm(weights.gamma.shape[0], eps=eps, dtype=weights.gamma.dtype)
    with torch.no_grad():
        module.weight.copy_(weights.gamma)
        module.bias.copy_(weights.beta)
    return module


def language_model(tokens, weights, config, *, padding_mask=None):
    return GPT2(weights, config).eval()(tokens, padding_mask)
