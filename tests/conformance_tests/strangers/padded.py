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


class EverySecond(OfLengths):
    """Returns the vectors of every second position, as encoders of speech do."""

    def forward(self, points, lengths):
        shown = torch.arange(points.shape[1]) < lengths[:, None]
        return self.attended(points, shown)[:, ::2]


class InPlace(nn.Module):
    """A series and its calendar; the mean is taken off the caller's array where `kept` is not set."""

    def __init__(self, kept):
        super().__init__()
        torch.manual_seed(0)
        self.kept = kept
        self.series, self.calendar, self.norm = nn.Linear(5, WIDTH), nn.Linear(3, WIDTH), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, series, calendar):
        mean = series.mean(1, keepdim=True)
        if self.kept:
            series = series - mean
        else:
            series -= mean
        x = self.series(series) + self.calendar(calendar)
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Remembers(nn.Module):
    """Keeps how far it has come, and adds the positions from there on."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.at = 0
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(24, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(self.at, self.at + tokens.shape[1]))
        self.at += tokens.shape[1]
        return self.norm(x)


class ShortNumbers(nn.Module):
    """A decoder without positions whose cache holds integers of eight bits, read with their scales or without."""

    def __init__(self, scaled):
        super().__init__()
        torch.manual_seed(0)
        self.scaled = scaled
        self.tokens, self.norm, self.last = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def stored(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        return torch.round(x / scale).to(torch.int8), scale

    def forward(self, tokens, past_key_values=None):
        x = self.tokens(tokens)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        new = [*self.stored(k), *self.stored(v)]
        if past_key_values:
            whole, scales = past_key_values[::2], past_key_values[1::2]
            k, v = (
                torch.cat((each.to(own.dtype) * (scale if self.scaled else 1), own), 2)
                for each, scale, own in zip(whole, scales, (k, v), strict=True)
            )
            new = [torch.cat(pair, 2) for pair in zip(past_key_values, new, strict=True)]
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        y = nn.functional.scaled_dot_product_attention(q, k, v, seen)
        return self.last(x + self.out(y.transpose(1, 2).flatten(2))), new


class OneSequence(Encoder):
    """Takes one sequence, without an axis of samples."""

    def forward(self, tokens):
        return super().forward(tokens[None])["logits"][0]
