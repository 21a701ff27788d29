# One layer for all depths (ALBERT, Universal Transformer), a factorised embedding, CLS pooling and a classifier.
import math

import torch
from torch import nn


class SharedLayer(nn.Module):
    def __init__(self, d, h, f):
        super().__init__()
        self.heads = h
        self.attention = nn.ModuleDict({n: nn.Linear(d, d) for n in ("query", "key", "value", "dense")})
        self.ln_attn, self.ln_out = nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
        self.ffn, self.ffn_output = nn.Linear(d, f), nn.Linear(f, d)

    def split(self, t):
        return t.view(*t.shape[:-1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = (self.split(self.attention[n](x)) for n in ("query", "key", "value"))
        scores = torch.matmul(q, k.mT) / math.sqrt(q.shape[-1]) + mask
        context = torch.matmul(nn.functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).flatten(2)
        x = self.ln_attn(x + self.attention["dense"](context))
        return self.ln_out(x + self.ffn_output(nn.functional.gelu(self.ffn(x), approximate="tanh")))


class Albert(nn.Module):
    def __init__(self, vocab=72, e=16, d=40, h=4, f=90, depth=4, labels=3):
        super().__init__()
        self.word, self.position, self.segment = nn.Embedding(vocab, e), nn.Embedding(40, e), nn.Embedding(2, e)
        self.norm = nn.LayerNorm(e, eps=1e-12)
        self.up = nn.Linear(e, d)
        self.layer, self.depth = SharedLayer(d, h, f), depth
        self.pooler, self.classifier = nn.Linear(d, d), nn.Linear(d, labels)

    def forward(self, input_ids, attention_mask, token_type_ids):
        positions = torch.arange(input_ids.shape[1])[None]
        x = self.norm(self.word(input_ids) + self.position(positions) + self.segment(token_type_ids))
        x = self.up(x)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for _ in range(self.depth):
            x = self.layer(x, mask)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


def build():
    torch.manual_seed(13)
    return Albert()


def inputs():
    import numpy as np

    generator = np.random.default_rng(2)
    mask = np.ones((2, 12), dtype=np.int64)
    mask[1, 9:] = 0
    segments = np.repeat([[0] * 5 + [1] * 7], 2, axis=0)
    return {"input_ids": generator.integers(4, 72, (2, 12)), "attention_mask": mask, "token_type_ids": segments}
