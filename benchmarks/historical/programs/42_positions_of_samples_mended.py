"""An encoder of action tokens, sequence first inside."""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(1))

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class ActionEncoder(nn.Module):
    def __init__(self, tokens=64, d_model=32, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(tokens, d_model)
        self.positional_encoding = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, heads, dim_feedforward=64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, tokens)

    def forward(self, ids):
        x = self.positional_encoding(self.embedding(ids).transpose(0, 1))
        return self.head(self.encoder(x).transpose(0, 1))


def build():
    torch.manual_seed(0)
    return ActionEncoder().eval()
