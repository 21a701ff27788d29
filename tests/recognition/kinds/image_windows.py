"""Windows of an image that are rolled in every second layer, with a row of a table for each displacement."""

import torch
from small import HEADS
from windows import WINDOW, Shifted, Windowed, regions

ROWS = 2 * WINDOW - 1


def index(step=ROWS):
    """The row of each pair of positions in a window, (16, 16); two displacements have one where `step` is too small."""
    own = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing="ij"), -1).flatten(0, 1)
    between = own[:, None] - own[None] + WINDOW - 1
    return between[..., 0] * step + between[..., 1]


def inverted():
    """Wrong: what was next to a query before the shift is hidden, and the rest is shown."""
    return -100.0 - regions()


def of_nothing():
    return torch.zeros_like(regions())


def of_some():
    """Neither the regions nor the others: the first key of each window is hidden."""
    hidden = torch.zeros_like(regions())
    hidden[..., 1:, 0] = -100.0
    return hidden


class Displaced(Windowed):
    def __init__(self, shift, mask, step):
        super().__init__(shift)
        self.rows, self.index = torch.nn.Parameter(torch.randn(ROWS**2, HEADS)), index(step)
        self.register_buffer("mask", mask() if shift else None)
        del self.table

    @property
    def table(self):
        return self.rows[self.index].permute(2, 0, 1)


class Image(Shifted):
    def __init__(self, mask=regions, step=ROWS, shifts=(0, WINDOW // 2)):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Displaced(shift, mask, step) for shift in shifts)
