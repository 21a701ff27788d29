"""BERT with an additive mask that is broadcast over heads and queries; rows are reshaped by view and permute."""

import math

import torch

framework = "torch"
architectures = {"encoder": ("bert",)}


def transpose_for_scores(x, heads):
    return x.view(*x.size()[:-1], heads, -1).permute(0, 2, 1, 3)


def norm(x, p, eps):
    u = x.mean(-1, keepdim=True)
    s = (x - u).pow(2).mean(-1, keepdim=True)
    return p.gamma * ((x - u) / torch.sqrt(s + eps)) + p.beta


def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


@torch.inference_mode()
def encoder(tokens, weights, config, *, padding_mask=None):
    position_ids = torch.arange(tokens.size(1)).unsqueeze(0).expand_as(tokens)
    hidden = torch.nn.functional.embedding(tokens, weights.embedding)
    hidden = hidden + torch.nn.functional.embedding(position_ids, weights.positions)
    hidden = norm(hidden, weights.embedding_norm, config.eps)
    attention_mask = torch.ones_like(tokens) if padding_mask is None else padding_mask.long()
    extended = (1.0 - attention_mask[:, None, None, :].to(hidden.dtype)) * -10000.0
    for layer in weights.layers:
        p = layer.self_attention
        query = transpose_for_scores(hidden @ p.w_q + p.b_q, config.num_heads)
        key = transpose_for_scores(hidden @ p.w_k + p.b_k, config.num_heads)
        value = transpose_for_scores(hidden @ p.w_v + p.b_v, config.num_heads)
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1)) + extended
        context = torch.matmul(torch.softmax(scores, dim=-1), value).permute(0, 2, 1, 3).contiguous()
        context = context.view(*context.size()[:-2], -1)
        attended = norm(context @ p.w_o + p.b_o + hidden, layer.norm_1, config.eps)
        inner = gelu(attended @ layer.feed_forward.w_1 + layer.feed_forward.b_1)
        hidden = norm(inner @ layer.feed_forward.w_2 + layer.feed_forward.b_2 + attended, layer.norm_2, config.eps)
    return hidden
