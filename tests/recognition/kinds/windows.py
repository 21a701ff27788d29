"""Images: cut into patches, attended to in windows that are shifted in every second layer, pooled at the end."""

import torch
from small import HEADS, WIDTH, Block, Gated
from torch import nn

SIDE, WINDOW, PATCH = 8, 4, 2


def cut(x):
    """(B, 8, 8, C) to (4 · B, 16, C)."""
    x = x.unflatten(1, (-1, WINDOW)).unflatten(3, (-1, WINDOW))
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, WINDOW * WINDOW, x.shape[-1])


def laid_back(x):
    count = SIDE // WINDOW
    x = x.reshape(-1, count, count, WINDOW, WINDOW, x.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, SIDE, SIDE, x.shape[-1])


def laid_back_as_it_lies(x):
    """Wrong: the rows of a window come one after the other."""
    return x.reshape(-1, SIDE, SIDE, x.shape[-1])


def regions():
    """The mask that hides what was not next to a query before the shift, as numbers that are added."""
    image = torch.zeros(1, SIDE, SIDE, 1)
    parts = (slice(0, -WINDOW), slice(-WINDOW, -WINDOW // 2), slice(-WINDOW // 2, None))
    for i, rows in enumerate(parts):
        for j, columns in enumerate(parts):
            image[:, rows, columns] = 3 * i + j
    windows = cut(image).squeeze(-1)
    return (windows[:, None, :] != windows[:, :, None]) * -100.0


class Windowed(nn.Module):
    def __init__(self, shift, back=laid_back, away=1):
        super().__init__()
        self.shift, self.back, self.away = shift, back, away
        self.norm1, self.norm2, self.network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Gated()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.table = nn.Parameter(torch.randn(HEADS, WINDOW**2, WINDOW**2))
        self.register_buffer("mask", regions() if shift else None)

    def attended(self, x):
        q, k, v = self.qkv(x).reshape(len(x), WINDOW**2, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.table
        if self.mask is not None:
            logits = logits.unflatten(0, (-1, len(self.mask))) + self.mask[:, None]
            logits = logits.flatten(0, 1)
        return self.out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        y = torch.roll(self.norm1(x), (-self.shift, -self.shift), (1, 2))
        y = self.back(self.attended(cut(y)))
        x = x + torch.roll(y, (self.away * self.shift, self.away * self.shift), (1, 2))
        return x + self.network(self.norm2(x))


class Shifted(nn.Module):
    def __init__(self, back=laid_back, away=1):
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.blocks = nn.ModuleList(Windowed(shift, back, away) for shift in (0, WINDOW // 2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 7)

    def forward(self, images):
        x = self.embed(images).permute(0, 2, 3, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean((1, 2)))


def images():
    return torch.randn(3, 3, SIDE * PATCH, SIDE * PATCH, generator=torch.Generator().manual_seed(0))


def right():
    return Shifted()


def shifted_twice():
    """Wrong."""
    return Shifted(away=-1)


def not_laid_back():
    """Wrong."""
    return Shifted(back=laid_back_as_it_lies)


class WholeLayersInWindows(nn.Module):
    """Layers that are given windows of a map, the second ones rolled ones, with their residuals; `back` rolls back."""

    def __init__(self, back):
        super().__init__()
        self.back = back
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(WIDTH)

    def forward(self, x):
        for number, block in enumerate(self.blocks):
            shift = (1, 2) if number else (0, 0)
            rolled = torch.roll(x, (-shift[0], -shift[1]), (1, 2))
            parts = rolled.unflatten(2, (2, 4)).unflatten(1, (2, 2)).transpose(2, 3)
            laid = block(parts.reshape(-1, 8, WIDTH)).view(parts.shape).transpose(2, 3).reshape(x.shape)
            x = torch.roll(laid, self.back if number else (0, 0), (1, 2))
        return self.norm(x)
