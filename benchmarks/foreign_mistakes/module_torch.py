"""Multi-head attention and a layer as a PyTorch user writes them, with one fused projection for self-attention."""

import torch
import torch.nn.functional as F

framework = "torch"


def lin(t, w, b):
    return t @ w if b is None else t @ w + b


def to_heads(t, n):
    return t.unflatten(-1, (n, -1)).transpose(1, 2)


def multi_head_attention(x, context, weights, *, num_heads, mask=None):
    p = weights
    if x is context or torch.equal(x, context):
        w = torch.cat([p.w_q, p.w_k, p.w_v], dim=1)
        fused = x @ w
        biases = [p.b_q, p.b_k, p.b_v]
        cut = [p.w_q.shape[1], p.w_k.shape[1], p.w_v.shape[1]]
        q, k, v = fused.split(cut, dim=-1)
        q, k, v = (t if b is None else t + b for t, b in zip((q, k, v), biases))
    else:
        q, k, v = lin(x, p.w_q, p.b_q), lin(context, p.w_k, p.b_k), lin(context, p.w_v, p.b_v)
    q, k, v = to_heads(q, num_heads), to_heads(k, num_heads), to_heads(v, num_heads)
    att = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        att = att.masked_fill(~mask, float("-inf"))
    att = torch.nan_to_num(att.softmax(-1))
    out = (att @ v).transpose(1, 2).flatten(2)
    return lin(out, p.w_o, p.b_o)


def norm(t, p, eps):
    return F.layer_norm(t, t.shape[-1:], p.gamma, p.beta, eps)


def mlp(t, p, activation):
    act = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}[activation]
    return lin(act(lin(t, p.w_1, p.b_1)), p.w_2, p.b_2)


def decoder_layer(
    x, memory, weights, *, num_heads, norm_first, activation, eps, padding_mask=None, memory_padding_mask=None
):
    w = weights
    see = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()[None, None]
    if padding_mask is not None:
        see = see & padding_mask[:, None, None, :]
    mem = None if memory_padding_mask is None else memory_padding_mask[:, None, None, :]

    def own(t):
        return multi_head_attention(t, t, w.self_attention, num_heads=num_heads, mask=see)

    def cross(t):
        return multi_head_attention(t, memory, w.cross_attention, num_heads=num_heads, mask=mem)

    if norm_first:
        x = x + own(norm(x, w.norm_1, eps))
        x = x + cross(norm(x, w.norm_2, eps))
        return x + mlp(norm(x, w.norm_3, eps), w.feed_forward, activation)
    x = norm(x + own(x), w.norm_1, eps)
    x = norm(x + cross(x), w.norm_2, eps)
    return norm(x + mlp(x, w.feed_forward, activation), w.norm_3, eps)
