"""Gated networks whose maps are called w1, w2 and w3, as LLaMA's are, or otherwise."""

from small import WIDTH, Block, Decoder
from torch import nn

HIDDEN = 96


class Numbered(nn.Module):
    """Three maps of these names: the activated one, the linear one and the one back to the stream."""

    def __init__(self, activated="w1", linear="w3", back="w2"):
        super().__init__()
        self.names = (activated, linear, back)
        for name, sizes in zip(self.names, ((WIDTH, HIDDEN), (WIDTH, HIDDEN), (HIDDEN, WIDTH)), strict=True):
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x):
        activated, linear, back = (self.get_submodule(name) for name in self.names)
        return back(nn.functional.silu(activated(x)) * linear(x))


def decoder(*names):
    return Decoder(lambda: Block(lambda: Numbered(*names)))
