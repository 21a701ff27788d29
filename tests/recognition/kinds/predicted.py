"""A model with streams of later tokens next to the main one."""

import torch
from small import HEADS, WIDTH, Block, Decoder
from torch import nn


class Streams(nn.Module):
    """ProphetNet: two streams of later tokens attend to the main one, and each to itself."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        length = x.shape[1] // 3
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = torch.ones(length, length, dtype=torch.bool).tril()
        main = nn.functional.scaled_dot_product_attention(
            q[:, :, :length], k[:, :, :length], v[:, :, :length], is_causal=True
        )
        own = torch.cat([seen, torch.eye(length, dtype=torch.bool)], -1)
        later = [slice(one * length, (one + 1) * length) for one in (1, 2)]
        keys, values = (
            torch.stack([torch.cat([t[:, :, :length], t[:, :, part]], 2) for part in later], 1) for t in (k, v)
        )
        queries = torch.stack([q[:, :, part] for part in later], 1)
        logits = (queries @ keys.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~own, float("-inf"))
        others = logits.softmax(-1) @ values
        merged = [main.transpose(1, 2).flatten(2), others.transpose(2, 3).flatten(3).flatten(1, 2)]
        return torch.cat([self.out(one) for one in merged], 1)


class Predicting(Decoder):
    """A decoder whose stream holds the tokens and, behind them, two streams of later ones."""

    def __init__(self):
        super().__init__(lambda: Block(attention=Streams))
        self.starts = nn.Parameter(torch.randn(2, WIDTH))

    def forward(self, tokens):
        x = self.embed(tokens)
        x = torch.cat([x, *(self.starts[one].expand_as(x) for one in range(2))], 1)
        return self.head(self.stack(x))
