"""Llama with a cache, as it stands in common libraries: rotary halves, grouped keys repeated, norms in float32."""

import torch
import torch.nn.functional as F

framework = "torch"
architectures = {"language_model": ("llama",), "decode_step": ("llama",)}


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(hidden_states, n_rep):
    batch, kv_heads, length, width = hidden_states.shape
    expanded = hidden_states[:, :, None, :, :].expand(batch, kv_heads, n_rep, length, width)
    return expanded.reshape(batch, kv_heads * n_rep, length, width)


def llama_norm(x, weight, eps):
    hidden = x.to(torch.float32)
    return weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


def attend(x, w, config, cos, sin, past, keep):
    batch, length, _ = x.shape
    q = (x @ w.w_q).view(batch, length, config.num_heads, -1).transpose(1, 2)
    k = (x @ w.w_k).view(batch, length, config.num_kv_heads, -1).transpose(1, 2)
    v = (x @ w.w_v).view(batch, length, config.num_kv_heads, -1).transpose(1, 2)
    q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
    if past is not None:
        k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
    n_rep = config.num_heads // config.num_kv_heads
    y = F.scaled_dot_product_attention(q, repeat_kv(k, n_rep), repeat_kv(v, n_rep), attn_mask=keep)
    return y.transpose(1, 2).reshape(batch, length, -1) @ w.w_o, (k, v)


def forward(tokens, cache, weights, config, padding_mask):
    seen = 0 if cache is None else cache[0][0].shape[2]
    length = tokens.shape[1]
    width = config.d_model // config.num_heads
    inv_freq = 1.0 / config.rotary_base ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
    freqs = torch.outer(torch.arange(seen, seen + length).float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    cos, sin = emb.cos(), emb.sin()
    keep = torch.arange(seen + length) <= torch.arange(seen, seen + length)[:, None]
    if padding_mask is not None:
        keep = keep & padding_mask[:, None, None, :]
    x = F.embedding(tokens, weights.embedding)
    new_cache = []
    for index, layer in enumerate(weights.layers):
        past = None if cache is None else cache[index]
        normed = llama_norm(x, layer.norm_1.gamma, config.eps)
        attended, present = attend(normed, layer.self_attention, config, cos, sin, past, keep)
        x = x + attended
        normed, mlp = llama_norm(x, layer.norm_2.gamma, config.eps), layer.feed_forward
        x = x + (F.silu(normed @ mlp.w_gate) * (normed @ mlp.w_up)) @ mlp.w_down
        new_cache.append(present)
    return llama_norm(x, weights.final_norm.gamma, config.eps) @ weights.unembedding, new_cache


def language_model(tokens, weights, config, *, padding_mask=None):
    return forward(tokens, None, weights, config, padding_mask)[0]


def decode_step(tokens, cache, weights, config):
    return forward(tokens, cache, weights, config, None)
