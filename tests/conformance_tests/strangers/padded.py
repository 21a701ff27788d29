"""Models that tell padding by their tokens or by lengths, and pool over the positions that are none, or over all."""

import torch
from torch import nn

PAD, WIDTH, VOCABULARY = 1, 24, 40


class Encoder(nn.Module):
    """Hides the keys of padding; returns logits of each position, or vectors of each sample, or both."""

    def __init__(self, pooled="shown", returns="both"):
        super().__init__()
        torch.manual_seed(0)
        self.pooled, self.returns = pooled, returns
        self.tokens, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.norm, self.last = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def attended(self, x, shown):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, shown[:, None, None])
        return self.last(x + self.out(y.transpose(1, 2).flatten(2)))

    def mean(self, x, shown):
        if self.pooled == "all":
            return x.mean(1)
        weights = shown[..., None].to(x.dtype)
        return (x * weights).sum(1) / weights.sum(1)

    def forward(self, tokens):
        shown = tokens != PAD
        x = self.attended(self.tokens(tokens), shown)
        mean = self.mean(x, shown)
        return {"logits": self.head(x), "mean": mean} if self.returns == "both" else mean


class OfLengths(Encoder):
    """Takes vectors, and how many of each sample are none of padding."""

    def forward(self, points, lengths):
        shown = torch.arange(points.shape[1]) < lengths[:, None]
        return self.mean(self.attended(points, shown), shown)
