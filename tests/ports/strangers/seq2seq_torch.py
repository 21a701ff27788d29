"""Translation with nn.Transformer, sequence first, sinusoids, as in PyTorch's tutorial."""

import math

import numpy as np
import torch
from torch import nn
from trained import trained


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, maxlen=60):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pe = torch.zeros((maxlen, emb_size))
        pe[:, 0::2] = torch.sin(pos * den)
        pe[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("pos_embedding", pe.unsqueeze(-2))

    def forward(self, x):
        return self.dropout(x + self.pos_embedding[: x.size(0), :])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens):
        return self.embedding(tokens.long()) * math.sqrt(self.emb_size)


class Seq2SeqTransformer(nn.Module):
    def __init__(self, layers=2, width=24, heads=3, src_vocab=53, tgt_vocab=47, ffn=40):
        super().__init__()
        self.transformer = nn.Transformer(width, heads, layers, layers, ffn, 0.1)
        self.generator = nn.Linear(width, tgt_vocab)
        self.src_tok_emb = TokenEmbedding(src_vocab, width)
        self.tgt_tok_emb = TokenEmbedding(tgt_vocab, width)
        self.positional_encoding = PositionalEncoding(width)

    def forward(self, src, trg):
        tgt_mask = nn.Transformer.generate_square_subsequent_mask(trg.size(0), dtype=self.generator.weight.dtype)
        src_emb = self.positional_encoding(self.src_tok_emb(src))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg))
        return self.generator(self.transformer(src_emb, tgt_emb, None, tgt_mask))


def build():
    return trained(Seq2SeqTransformer())


def inputs():
    rng = np.random.default_rng(5)
    return rng.integers(0, 53, (9, 2)), rng.integers(0, 47, (6, 2))
