"""A tower of images and one of texts, whose vectors are compared as CLIP compares them, or otherwise."""

import torch
from small import VOCABULARY, WIDTH, Attention, Block, Stack
from torch import nn

JOINT = 20


def own(x):
    """Each vector divided by its length."""
    return x / x.norm(dim=-1, keepdim=True)


def by_function(x):
    return nn.functional.normalize(x, dim=-1)


def over_the_batch(x):
    """Wrong: each column divided by its length."""
    return x / x.norm(dim=0, keepdim=True)


def as_it_is(x):
    return x


def exponential(scale):
    return scale.exp()


def itself(scale):
    return scale


class Towers(nn.Module):
    def __init__(self, divided=own, scaled=exponential):
        super().__init__()
        self.divided, self.scaled = divided, scaled
        self.patches, self.tokens = nn.Linear(12, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.image = Stack(lambda: Block(attention=lambda: Attention(causal=False)))
        self.text = Stack()
        self.of_image, self.of_text = nn.Linear(WIDTH, JOINT, bias=False), nn.Linear(WIDTH, JOINT, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, patches, tokens):
        image = self.divided(self.of_image(self.image(self.patches(patches))[:, 0]))
        text = self.divided(self.of_text(self.text(self.tokens(tokens))[:, -1]))
        return self.scaled(self.logit_scale) * image @ text.T


def given():
    draw = torch.Generator().manual_seed(0)
    return torch.randn(3, 9, 12, generator=draw), torch.randint(1, VOCABULARY, (5, 7), generator=draw)
