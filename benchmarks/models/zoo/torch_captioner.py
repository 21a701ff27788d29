"""Captions: a torch.nn.TransformerDecoder reads the features of image patches."""

import numpy as np
import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self, vocab, d_model, nhead, num_layers, d_ff, feature_dim, max_len=26):
        super().__init__()
        self.project = nn.Linear(feature_dim, d_model)
        self.embed = nn.Embedding(vocab, d_model)
        self.embed_pos = nn.Embedding(max_len, d_model)
        layer = nn.TransformerDecoderLayer(d_model, nhead, d_ff, dropout=0.1, activation="relu", batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, num_layers)
        self.to_vocab = nn.Linear(d_model, vocab)

    def forward(self, features, captions):
        steps = captions.size(1)
        memory = self.project(features)
        where = torch.arange(steps, device=captions.device)
        x = self.embed(captions) + self.embed_pos(where)
        causal = torch.full((steps, steps), float("-inf"), device=x.device, dtype=x.dtype).triu(1)
        x = self.decoder(x, memory, tgt_mask=causal)
        return self.to_vocab(x)


def build():
    torch.manual_seed(3)
    return Captioner(vocab=73, d_model=30, nhead=3, num_layers=3, d_ff=58, feature_dim=17)


def inputs():
    rng = np.random.default_rng(2)
    return {"features": rng.normal(size=(2, 7, 17)).astype(np.float32), "captions": rng.integers(0, 73, (2, 11))}
