"""An encoder over clips of a video: padded clips are hidden, by a mask for each head."""

import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, d_model, nhead):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, 2 * d_model), nn.Linear(2 * d_model, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.nhead = nhead

    def forward(self, src, valid=None):
        attn_mask = None
        if valid is not None:
            attn_mask = ~valid.bool().unsqueeze(1).expand(-1, src.shape[1], -1)
            attn_mask = attn_mask.repeat_interleave(self.nhead, dim=0)
        src2 = self.self_attn(src, src, value=src, attn_mask=attn_mask, need_weights=False)[0]
        src = self.norm1(src + src2)
        return self.norm2(src + self.linear2(self.linear1(src).relu()))


class VideoEncoder(nn.Module):
    def __init__(self, tokens=100, d_model=32, nhead=4, layers=2):
        super().__init__()
        self.embed, self.pos_embed = nn.Embedding(tokens, d_model), nn.Embedding(64, d_model)
        self.layers = nn.ModuleList(EncoderLayer(d_model, nhead) for _ in range(layers))

    def forward(self, input_ids, attention_mask=None):
        out = self.embed(input_ids) + self.pos_embed.weight[: input_ids.shape[1]]
        for layer in self.layers:
            out = layer(out, attention_mask)
        return out


def build():
    torch.manual_seed(0)
    return VideoEncoder().eval()
