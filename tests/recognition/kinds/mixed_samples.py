"""A batch that is read where samples are alone, and loops over samples whose tokens something else reads too."""

import torch
from loops import HEADS, WIDTH, Loop
from small import Attention, Block, Decoder, triangle

PART = WIDTH // HEADS


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
    """Samples are embedded together; then each goes through the layers by itself, head by head."""

    def forward(self, tokens):
        rows = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return torch.stack([self.through(sample) for sample in rows])

    def through(self, rows):
        hidden = ~triangle(len(rows))
        for norm, taken, out in zip(self.norms, self.maps, self.outs, strict=True):
            heads = []
            for q, k, v in zip(*(part.split(PART, -1) for part in taken(norm(rows)).chunk(3, -1)), strict=True):
                heads.append((q @ k.T * PART**-0.5).masked_fill(hidden, -torch.inf).softmax(-1) @ v)
            rows = rows + out(torch.cat(heads, -1))
        return rows


class Limited(Loop):
    """Its tokens are limited from below before they are taken apart."""

    def forward(self, tokens):
        return super().forward(tokens.clamp(min=0))
