"""Attention whose keys and values are projected from a latent, with a part that is turned and that all heads share."""

import torch
from small import WIDTH, Block, Decoder
from torch import nn

HEADS, PLAIN, TURNED, VALUE, QUERIES, LATENT = 4, 8, 8, 10, 24, 20


class Latent(nn.Module):
    """`way` says how both parts of the logits are put together, `wrong` what is left out."""

    def __init__(self, way="joined", wrong=""):
        super().__init__()
        self.way, self.wrong = way, wrong
        self.to_queries, self.queries = nn.Linear(WIDTH, QUERIES), nn.Linear(QUERIES, HEADS * (PLAIN + TURNED))
        self.to_latent, self.heads = nn.Linear(WIDTH, LATENT + TURNED), nn.Linear(LATENT, HEADS * (PLAIN + VALUE))
        self.norm_of_queries, self.norm_of_latent = nn.RMSNorm(QUERIES, eps=1e-6), nn.RMSNorm(LATENT, eps=1e-6)
        self.out = nn.Linear(HEADS * VALUE, WIDTH)

    def turn(self, x):
        """Turn pairs of neighbours, (B, L, H, D)."""
        angle = torch.outer(torch.arange(x.shape[1]), 10000.0 ** (-torch.arange(0, TURNED, 2) / TURNED)).to(x.dtype)
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def forward(self, x):
        queries = self.queries(self.norm_of_queries(self.to_queries(x))).unflatten(-1, (HEADS, -1))
        query, query_turned = queries.split([PLAIN, TURNED], -1)
        latent, key_turned = self.to_latent(x).split([LATENT, TURNED], -1)
        query_turned, key_turned = self.turn(query_turned), key_turned[:, :, None]
        key_turned = key_turned if self.wrong == "key not turned" else self.turn(key_turned)
        latent = latent if self.wrong == "no norm" else self.norm_of_latent(latent)
        key, value = self.heads(latent).unflatten(-1, (HEADS, -1)).split([PLAIN, VALUE], -1)
        scale = (PLAIN if self.wrong == "scale of a part" else PLAIN + TURNED) ** -0.5
        weights = getattr(self, self.way)(query, query_turned, key, key_turned, scale)
        hidden = torch.full(weights.shape[-2:], -torch.inf, dtype=x.dtype).triu(1)
        weights = (weights + hidden).softmax(-1)
        return self.out(torch.einsum("bhts,bshd->bthd", weights, value).flatten(2))

    def joined(self, query, query_turned, key, key_turned, scale):
        query = torch.cat([query, query_turned], -1).transpose(1, 2)
        key = torch.cat([key, key_turned.expand(-1, -1, HEADS, -1)], -1).transpose(1, 2)
        return query @ key.mT * scale

    def filled(self, query, query_turned, key, key_turned, scale):
        """Scale both sides before the product, and write both parts into one array."""
        whole = key.new_empty(*key.shape[:3], PLAIN + TURNED)
        whole[..., :PLAIN] = key
        whole[..., PLAIN:] = key_turned
        query = torch.cat([query, query_turned], -1).transpose(1, 2)
        return (query * scale**0.5) @ (whole.transpose(1, 2) * scale**0.5).mT

    def added(self, query, query_turned, key, key_turned, scale):
        logits = torch.einsum("bthd,bshd->bhts", query, key)
        return (logits + torch.einsum("bthd,bsd->bhts", query_turned, key_turned[:, :, 0])) * scale

    def added_scaled(self, query, query_turned, key, key_turned, scale):
        logits = scale * query.transpose(1, 2) @ key.permute(0, 2, 3, 1)
        return logits + scale * query_turned.transpose(1, 2) @ key_turned.permute(0, 2, 3, 1)


def model(way, wrong=""):
    return Decoder(lambda: Block(attention=lambda: Latent(way, wrong)))
