"""A small DiT: norms whose gain and shift, and outputs whose gates, are made of each sample's time step and class."""

import math

import torch
from torch import nn

WIDTH, HEADS, HIDDEN, CLASSES = 24, 3, 40, 7
SIDE, PATCH, CHANNELS = 8, 2, 3
COUNT = SIDE // PATCH


def modulate(x, shift, scale):
    return x * (1 + scale[:, None]) + shift[:, None]


def in_one_step(x, shift, scale):
    return torch.addcmul(shift[:, None], x, 1 + scale[:, None])


def gain_alone(x, shift, scale):
    """The gain is what the map gives, and not one more."""
    return x * scale[:, None] + shift[:, None]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """`order` are the parts that are shift, gain and gate of the attention, and those of the network."""

    def __init__(self, modulate=modulate, order=(0, 1, 2, 3, 4, 5), gated=(True, True)):
        super().__init__()
        self.modulate, self.order, self.gated = modulate, order, gated
        self.norm1, self.norm2 = (nn.LayerNorm(WIDTH, eps=1e-6, elementwise_affine=False) for _ in range(2))
        self.attention, self.condition = Attention(), nn.Sequential(nn.SiLU(), nn.Linear(WIDTH, 6 * WIDTH))
        self.network = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH))

    def forward(self, x, c):
        parts = self.condition(c).chunk(6, dim=1)
        shift1, gain1, gate1, shift2, gain2, gate2 = (parts[place] for place in self.order)
        y = self.attention(self.modulate(self.norm1(x), shift1, gain1))
        x = x + (gate1[:, None] * y if self.gated[0] else y)
        y = self.network(self.modulate(self.norm2(x), shift2, gain2))
        return x + (gate2[:, None] * y if self.gated[1] else y)


class Steps(nn.Module):
    """Cosines and sines of a time step, through a network."""

    def __init__(self, waves=16, base=10000.0):
        super().__init__()
        self.waves, self.base = waves, base
        self.network = nn.Sequential(nn.Linear(waves, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, t):
        half = self.waves // 2
        frequencies = torch.exp(-math.log(self.base) * torch.arange(half, dtype=torch.float32) / half)
        angles = t[:, None].float() * frequencies
        return self.network(torch.cat((angles.cos(), angles.sin()), dim=-1))


def channels_first(x):
    x = x.reshape(len(x), COUNT, COUNT, PATCH, PATCH, CHANNELS)
    return torch.einsum("bhwpqc->bchpwq", x).reshape(len(x), CHANNELS, SIDE, SIDE)


def channels_last(x):
    x = x.reshape(len(x), COUNT, COUNT, PATCH, PATCH, CHANNELS)
    return torch.einsum("bhwpqc->bhpwqc", x).reshape(len(x), SIDE, SIDE, CHANNELS)


def as_they_lie(x):
    """Wrong: no axes are exchanged."""
    return x.reshape(len(x), CHANNELS, SIDE, SIDE)


def as_they_lie_in_rows(x):
    """Wrong: no axes are exchanged, so that a vector is a piece of one row."""
    return x.reshape(len(x), SIDE, SIDE, CHANNELS)


def far_apart(x):
    """Wrong: the places inside of a patch come before those of the patches."""
    x = x.reshape(len(x), COUNT, COUNT, PATCH, PATCH, CHANNELS)
    return torch.einsum("bhwpqc->bphqwc", x).reshape(len(x), SIDE, SIDE, CHANNELS)


def column_by_column(x):
    """Wrong where the image is cut row by row."""
    return channels_first(x.unflatten(1, (COUNT, COUNT)).transpose(1, 2).flatten(1, 2))


def cut_rows(images):
    x = images.reshape(len(images), COUNT, PATCH, COUNT, PATCH, CHANNELS)
    return x.transpose(2, 3).reshape(len(x), COUNT**2, PATCH * PATCH * CHANNELS)


class Squares(nn.Module):
    """Patches of images (B, H, W, C)."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(PATCH * PATCH * CHANNELS, WIDTH)

    def forward(self, images):
        return self.map(cut_rows(images))


class Convolved(nn.Module):
    """Patches of images (B, C, H, W), or of (B, H, W, C) if their channels are last."""

    def __init__(self, is_last=False):
        super().__init__()
        self.is_last, self.map = is_last, nn.Conv2d(CHANNELS, WIDTH, PATCH, PATCH)

    def forward(self, images):
        return self.map(images.permute(0, 3, 1, 2) if self.is_last else images).flatten(2).transpose(1, 2)


class DiT(nn.Module):
    def __init__(self, blocks=(Block, Block), laid_out=channels_first, embed=Convolved):
        super().__init__()
        self.laid_out, self.embed = laid_out, embed()
        self.positions = nn.Parameter(torch.randn(COUNT**2, WIDTH))
        self.steps, self.classes = Steps(), nn.Embedding(CLASSES, WIDTH)
        self.blocks = nn.ModuleList(block() for block in blocks)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6, elementwise_affine=False)
        self.condition = nn.Sequential(nn.SiLU(), nn.Linear(WIDTH, 2 * WIDTH))
        self.head = nn.Linear(WIDTH, PATCH * PATCH * CHANNELS)

    def forward(self, x, t, y):
        x = self.embed(x) + self.positions
        c = self.steps(t) + self.classes(y)
        for block in self.blocks:
            x = block(x, c)
        shift, gain = self.condition(c).chunk(2, dim=1)
        return self.laid_out(self.head(modulate(self.norm(x), shift, gain)))


def given(is_last=False):
    images = torch.randn(3, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    return (
        images.permute(0, 2, 3, 1).contiguous() if is_last else images,
        torch.tensor([5, 431, 77]),
        torch.tensor([2, 0, 5]),
    )
