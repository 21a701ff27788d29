"""A small Llama as Hugging Face writes it: rotate_half, repeated key/value heads, RMS norms, a gated network."""

import torch
from torch import nn

framework = "torch"
architectures = {"language_model": ("llama",), "decode_step": ("llama",)}


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def cos_sin(positions, dim, base, dtype):
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim))
    angles = positions[:, None].to(torch.float64) * inv_freq[None, :]
    emb = torch.cat((angles, angles), dim=-1)
    return emb.cos().to(dtype), emb.sin().to(dtype)


def rms(x, weight, eps):
    variance = x.pow(2).mean(-1, keepdim=True)
    return weight * (x * torch.rsqrt(variance + eps))


def repeat_kv(x, times):
    return x.repeat_interleave(times, dim=1)


def attention(x, w, config, past):
    batch, length, width = x.shape
    dim = width // config.num_heads
    q = (x @ w.w_q).view(batch, length, config.num_heads, dim).transpose(1, 2)
    k = (x @ w.w_k).view(batch, length, config.num_kv_heads, dim).transpose(1, 2)
    v = (x @ w.w_v).view(batch, length, config.num_kv_heads, dim).transpose(1, 2)
    start = 0 if past is None else past[0].shape[2]
    cos, sin = cos_sin(torch.arange(start, start + length), dim, config.rotary_base, x.dtype)
    q = q * cos + rotate_half(q) * sin
    k = k * cos + rotate_half(k) * sin
    if past is not None:
        k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
    present = (k, v)
    groups = config.num_heads // config.num_kv_heads
    scores = q @ repeat_kv(k, groups).transpose(2, 3) * dim**-0.5
    mask = torch.full((length, start + length), float("-inf"), dtype=x.dtype).triu(start + 1)
    weights = nn.functional.softmax(scores + mask, dim=-1)
    out = (weights @ repeat_kv(v, groups)).transpose(1, 2).reshape(batch, length, width)
    return out @ w.w_o, present


def mlp(x, w):
    return (nn.functional.silu(x @ w.w_gate) * (x @ w.w_up)) @ w.w_down


def run(tokens, weights, config, cache=None):
    x = weights.embedding[tokens]
    presents = []
    for number, layer in enumerate(weights.layers):
        past = None if cache is None else cache[number]
        h, present = attention(rms(x, layer.norm_1.gamma, config.eps), layer.self_attention, config, past)
        x = x + h
        x = x + mlp(rms(x, layer.norm_2.gamma, config.eps), layer.feed_forward)
        presents.append(present)
    return rms(x, weights.final_norm.gamma, config.eps) @ weights.unembedding, presents


def language_model(tokens, weights, config):
    return run(tokens, weights, config)[0]


def decode_step(tokens, cache, weights, config):
    return run(tokens, weights, config, cache)
