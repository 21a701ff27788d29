"""Attention a few queries at a time and networks a few rows at a time, to save memory."""

import torch

framework = "torch"
ACTIVATIONS = {"relu": torch.relu, "gelu": torch.nn.GELU(), "silu": torch.nn.SiLU()}


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, scale=None):
    scale = 1 / query.shape[-1] ** 0.5 if scale is None else scale
    shape = (*query.shape[:3], key.shape[2])
    positions = torch.arange(shape[3])
    pieces = []
    for start in range(0, shape[2], 3):
        rows = slice(start, start + 3)
        scores = query[:, :, rows] @ key.mT * scale
        if bias is not None:
            scores = scores + bias.broadcast_to(shape)[:, :, rows]
        if is_causal:
            scores = scores.masked_fill(positions > torch.arange(shape[2])[rows, None], -torch.inf)
        if mask is not None:
            scores = scores.masked_fill(~mask.broadcast_to(shape)[:, :, rows], -torch.inf)
        pieces.append(torch.softmax(scores, dim=-1) @ value)
    return torch.cat(pieces, dim=2)


def feed_forward(x, weights, *, activation):
    rows = x.reshape(-1, x.shape[-1]).split(4)

    def forward_chunk(chunk):
        hidden = chunk @ weights.w_1
        if weights.b_1 is not None:
            hidden = hidden + weights.b_1
        out = ACTIVATIONS[activation](hidden) @ weights.w_2
        return out if weights.b_2 is None else out + weights.b_2

    return torch.cat([forward_chunk(chunk) for chunk in rows]).reshape(x.shape)


def gated_feed_forward(x, weights, *, activation):
    gate, up = (x @ torch.cat([weights.w_gate, weights.w_up], dim=1)).chunk(2, dim=-1)
    return (ACTIVATIONS[activation](gate) * up) @ weights.w_down
