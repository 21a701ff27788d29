"""A small GPT as people write it after nanoGPT: a fused projection, GELU by tanh, modules with a state dict."""

import math

import torch
from torch import nn

framework = "torch"
architectures = {"language_model": ("gpt",), "decode_step": ("gpt",)}


def new_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head = n_head

    def forward(self, x, past=None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        seen = torch.ones(T, k.size(2), dtype=torch.bool).tril(k.size(2) - T)
        att = nn.functional.softmax(att.masked_fill(~seen, float("-inf")), dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), (k, v)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.d_model, eps=config.eps)
        self.attn = CausalSelfAttention(config.d_model, config.num_heads)
        self.ln_2 = nn.LayerNorm(config.d_model, eps=config.eps)
        self.c_fc = nn.Linear(config.d_model, config.d_ff)
        self.c_proj = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x, past=None):
        y, present = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.c_proj(new_gelu(self.c_fc(self.ln_2(x)))), present


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary_size, config.d_model)
        self.wpe = nn.Embedding(config.max_length, config.d_model)
        self.h = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.ln_f = nn.LayerNorm(config.d_model, eps=config.eps)
        self.lm_head = nn.Linear(config.d_model, config.vocabulary_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, past=None):
        start = 0 if past is None else past[0][0].size(2)
        x = self.wte(idx) + self.wpe(torch.arange(start, start + idx.size(1)))
        presents = []
        for number, block in enumerate(self.h):
            x, present = block(x, None if past is None else past[number])
            presents.append(present)
        return self.lm_head(self.ln_f(x)), presents


def load(weights, config):
    model = GPT(config).to(weights.embedding.dtype)
    state = {"wte.weight": weights.embedding, "lm_head.weight": weights.embedding, "wpe.weight": weights.positions}
    for number, layer in enumerate(weights.layers):
        at, a, f = f"h.{number}.", layer.self_attention, layer.feed_forward
        state[at + "ln_1.weight"], state[at + "ln_1.bias"] = layer.norm_1.gamma, layer.norm_1.beta
        state[at + "ln_2.weight"], state[at + "ln_2.bias"] = layer.norm_2.gamma, layer.norm_2.beta
        state[at + "attn.c_attn.weight"] = torch.cat((a.w_q, a.w_k, a.w_v), dim=1).t()
        state[at + "attn.c_attn.bias"] = torch.cat((a.b_q, a.b_k, a.b_v))
        state[at + "attn.c_proj.weight"], state[at + "attn.c_proj.bias"] = a.w_o.t(), a.b_o
        state[at + "c_fc.weight"], state[at + "c_fc.bias"] = f.w_1.t(), f.b_1
        state[at + "c_proj.weight"], state[at + "c_proj.bias"] = f.w_2.t(), f.b_2
    state["ln_f.weight"], state["ln_f.bias"] = weights.final_norm.gamma, weights.final_norm.beta
    model.load_state_dict(state)
    return model.eval()


@torch.no_grad()
def language_model(tokens, weights, config):
    return load(weights, config)(tokens)[0]


@torch.no_grad()
def decode_step(tokens, cache, weights, config):
    return load(weights, config)(tokens, cache)
