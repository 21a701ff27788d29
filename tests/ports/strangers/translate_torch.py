"""An encoder and decoder around nn.Transformer, with sinusoids, batch first, ReLU, norms after each part."""

import math

import numpy as np
import torch
from torch import nn
from trained import trained


class PositionalEncoding(nn.Module):
    def __init__(self, dim, length=40):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(length, dim)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Seq2SeqTransformer(nn.Module):
    def __init__(self, source_vocab=53, target_vocab=59, dim=32, heads=4, inner=40):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=dim,
            nhead=heads,
            num_encoder_layers=2,
            num_decoder_layers=2,
            dim_feedforward=inner,
            dropout=0.1,
            batch_first=True,
        )
        self.src_emb = nn.Embedding(source_vocab, dim)
        self.tgt_emb = nn.Embedding(target_vocab, dim)
        self.positional_encoding = PositionalEncoding(dim)
        self.generator = nn.Linear(dim, target_vocab)
        self.dim = dim

    def forward(self, src, tgt):
        source = self.positional_encoding(self.src_emb(src) * math.sqrt(self.dim))
        target = self.positional_encoding(self.tgt_emb(tgt) * math.sqrt(self.dim))
        ahead = torch.triu(torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool), diagonal=1)
        return self.generator(self.transformer(source, target, tgt_mask=ahead))


def build():
    torch.manual_seed(0)
    return trained(Seq2SeqTransformer())


def inputs():
    rng = np.random.default_rng(2)
    return {"src": rng.integers(0, 53, (2, 9)), "tgt": rng.integers(0, 59, (2, 7))}
