"""Encoders that say what their mask of padding is, in the class or in the method, and do so or not."""

import torch
from torch import nn

WIDTH = 24


class Encoder(nn.Module):
    """An encoder layer. x: (batch, time, width); pad_mask: bool (batch, time), True on padded positions."""

    hides_true = True

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, pad_mask=None):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        shown = None
        if pad_mask is not None:
            shown = (~pad_mask if self.hides_true else pad_mask)[:, None, None]
        y = nn.functional.scaled_dot_product_attention(q, k, v, shown)
        return x + self.out(y.transpose(1, 2).flatten(2))


class TheOtherWay(Encoder):
    """x: (batch, time, width); pad_mask: bool (batch, time), True on padded positions."""

    hides_true = False


class Undocumented(Encoder):
    hides_true = False
    __doc__ = None


class ByMethod(Encoder):
    hides_true = False

    def forward(self, x, pad_mask=None):
        """pad_mask: True for the real tokens."""
        return super().forward(x, pad_mask)
