"""Batched models that are read where samples are alone, and a loop over samples that are embedded together."""

import torch
from loops import Loop
from small import Attention, Block, Decoder, triangle


class OfAllSamples(Attention):
    """Wrong: the logits of each sample depend on those of the others, of which one sample has none."""

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        logits = logits + torch.sin(logits - logits.mean(0, keepdim=True))
        logits = logits.masked_fill(~triangle(x.shape[1]), -torch.inf)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))


def mixed():
    return Decoder(lambda: Block(attention=OfAllSamples))


class EmbeddedTogether(Loop):
    """Samples are embedded together, and then each goes through the layers by itself."""

    def forward(self, tokens):
        rows = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return torch.stack([self._layers(sample) for sample in rows])

    def _layers(self, rows):
        for norm, taken, out in zip(self.norms, self.maps, self.outs, strict=True):
            q, k, v = (part.unflatten(-1, (4, -1)).transpose(0, 1) for part in taken(norm(rows)).chunk(3, -1))
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            weights = scores.masked_fill(~triangle(len(rows)), -torch.inf).softmax(-1)
            rows = rows + out((weights @ v).transpose(0, 1).flatten(1))
        return rows


class OfLengths(Loop):
    """Counts the tokens of each sample, none of which is padding here, and then goes through the samples one by one."""

    def forward(self, tokens):
        lengths = (tokens >= 0).sum(1)
        return torch.stack([self._one(sample[:length]) for sample, length in zip(tokens, lengths.tolist())])
