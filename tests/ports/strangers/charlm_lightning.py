"""A character model with a base class like Lightning's, Conv1D kernels, and weights as they are initialised."""

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D


class LightningModule(nn.Module):
    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x).flatten(0, 1), y.flatten())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Mixer(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        self.attn, self.proj, self.h = Conv1D(3 * n, n), Conv1D(n, n), h

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.attn(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class Net(nn.Module):
    def __init__(self, v, n, h, layers, context):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, n), nn.Parameter(0.02 * torch.randn(context, n))
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "n1": nn.LayerNorm(n),
                    "mix": Mixer(n, h),
                    "n2": nn.LayerNorm(n),
                    "ff": nn.Sequential(Conv1D(4 * n, n), nn.GELU("tanh"), Conv1D(n, 4 * n)),
                }
            )
            for _ in range(layers)
        )
        self.norm, self.out = nn.LayerNorm(n), nn.Linear(n, v)

    def forward(self, x):
        y = self.tok(x) + self.pos[: x.shape[1]]
        for layer in self.layers:
            y = y + layer["mix"](layer["n1"](y))
            y = y + layer["ff"](layer["n2"](y))
        return self.out(self.norm(y))


class CharLM(LightningModule):
    def __init__(self, vocab=41, width=40, heads=5, layers=3, context=32):
        super().__init__()
        self.net = Net(vocab, width, heads, layers, context)

    def forward(self, x):
        return self.net(x)


def build():
    torch.manual_seed(0)
    return CharLM().eval()
