# torch.nn.Transformer with norm_first, not batch_first, activation as a function, and padding on both sides.
import math

import torch
import torch.nn.functional as F
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class Translator(nn.Module):
    def __init__(self, src_vocab=58, tgt_vocab=49, emb_size=32, nhead=4):
        super().__init__()
        self.transformer = nn.Transformer(
            emb_size, nhead, 3, 3, 76, dropout=0.1, activation=F.gelu, norm_first=True, batch_first=False
        )
        self.generator = nn.Linear(emb_size, tgt_vocab)
        self.src_tok_emb, self.tgt_tok_emb = nn.Embedding(src_vocab, emb_size), nn.Embedding(tgt_vocab, emb_size)
        self.positional_encoding, self.emb_size = PositionalEncoding(emb_size), emb_size

    def forward(self, src, tgt, src_padding_mask, tgt_padding_mask):
        src, tgt = src.T, tgt.T
        tgt_mask = torch.ones(len(tgt), len(tgt), dtype=torch.bool).triu(1)
        src_emb = self.positional_encoding(self.src_tok_emb(src) * math.sqrt(self.emb_size))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(tgt) * math.sqrt(self.emb_size))
        outs = self.transformer(
            src_emb, tgt_emb, None, tgt_mask, None, src_padding_mask, tgt_padding_mask, src_padding_mask
        )
        return self.generator(outs).transpose(0, 1)


def build():
    torch.manual_seed(20)
    return Translator()


def inputs():
    import numpy as np

    generator = np.random.default_rng(6)
    source, target = np.zeros((2, 12), dtype=bool), np.zeros((2, 9), dtype=bool)
    source[1, 8:], target[0, 7:] = True, True
    return generator.integers(1, 58, (2, 12)), generator.integers(1, 49, (2, 9)), source, target
