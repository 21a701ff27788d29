"""A tagger: two LSTM layers written out, then additive attention over time."""

import torch
from drawn import redrawn
from torch import nn

V, D, H = 31, 10, 12


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.from_input, self.from_state = nn.Linear(width, 4 * H), nn.Linear(H, 4 * H, bias=False)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], H)
        outs = []
        for t in range(x.shape[1]):
            i, f, g, o = (self.from_input(x[:, t]) + self.from_state(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs, 1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.first, self.second = Cell(D), Cell(H)
        self.score = nn.Linear(H, H)
        self.context = nn.Linear(H, 1, bias=False)
        self.tag = nn.Linear(2 * H, 6)

    def forward(self, ids):
        y = self.first(self.emb(ids))
        z = y + self.second(y)
        weights = self.context(torch.tanh(self.score(z))).softmax(1)
        summary = (weights * z).sum(1, keepdim=True).expand_as(z)
        return self.tag(torch.cat([z, summary], -1))


def build():
    return redrawn(Tagger())


def inputs():
    return torch.randint(0, V, (2, 6), generator=torch.Generator().manual_seed(6))
