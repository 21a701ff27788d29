# A GPT whose layers are dictionaries of modules, and whose attention is torch's functional one on raw parameters.
import torch
import torch.nn.functional as F
from torch import nn


class FunctionalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.in_weight = nn.Parameter(torch.randn(3 * width, width) * 0.05)
        self.in_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_weight = nn.Parameter(torch.randn(width, width) * 0.05)
        self.out_bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        t = x.size(1)
        x = x.transpose(0, 1)
        mask = torch.full((t, t), float("-inf"), dtype=x.dtype).triu(1)
        y, _ = F.multi_head_attention_forward(
            x, x, x, self.width, self.heads, self.in_weight, self.in_bias, None, None, False, 0.0,
            self.out_weight, self.out_bias, training=self.training, need_weights=False, attn_mask=mask,
        )
        return y.transpose(0, 1)


class Model(nn.Module):
    def __init__(self, vocab=66, width=36, heads=3, depth=3, context=24):
        super().__init__()
        self.emb = nn.ModuleDict({"token": nn.Embedding(vocab, width), "place": nn.Embedding(context, width)})
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm_a": nn.LayerNorm(width),
                    "mix": FunctionalAttention(width, heads),
                    "norm_b": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(depth)
        )
        self.last = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.emb["token"](ids) + self.emb["place"](torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = x + layer["mix"](layer["norm_a"](x))
            x = x + layer["down"](F.gelu(layer["up"](layer["norm_b"](x))))
        return self.out(self.last(x))


def build():
    torch.manual_seed(4)
    return Model()
