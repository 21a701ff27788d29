# Two towers, images and texts, compared by the cosine of their vectors.
import numpy as np
import torch
from torch import nn


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Block(nn.Module):
    def __init__(self, d, h, causal):
        super().__init__()
        self.attn, self.causal = nn.MultiheadAttention(d, h), causal
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, d * 4), QuickGELU(), nn.Linear(d * 4, d))

    def forward(self, x):
        y = self.ln_1(x)
        mask = torch.full((len(x), len(x)), float("-inf")).triu(1) if self.causal else None
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=None if mask is None else mask.to(x.dtype))[0]
        return x + self.mlp(self.ln_2(x))


class Clip(nn.Module):
    def __init__(self, vocab=63, d_image=40, d_text=32, joint=20, patch=4, side=12):
        super().__init__()
        self.conv1 = nn.Conv2d(3, d_image, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(d_image))
        self.image_positions = nn.Parameter(torch.randn((side // patch) ** 2 + 1, d_image))
        self.ln_pre, self.ln_post = nn.LayerNorm(d_image), nn.LayerNorm(d_image)
        self.visual = nn.Sequential(*(Block(d_image, 4, False) for _ in range(3)))
        self.image_projection = nn.Parameter(torch.randn(d_image, joint) * d_image**-0.5)
        self.token_embedding, self.ln_final = nn.Embedding(vocab, d_text), nn.LayerNorm(d_text)
        self.text_positions = nn.Parameter(torch.randn(20, d_text))
        self.transformer = nn.Sequential(*(Block(d_text, 4, True) for _ in range(3)))
        self.text_projection = nn.Parameter(torch.randn(d_text, joint) * d_text**-0.5)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def encode_image(self, image):
        x = self.conv1(image).flatten(2).permute(0, 2, 1)
        first = self.class_embedding.to(x.dtype) + torch.zeros(len(x), 1, x.shape[-1], dtype=x.dtype)
        x = self.ln_pre(torch.cat([first, x], dim=1) + self.image_positions)
        x = self.visual(x.permute(1, 0, 2)).permute(1, 0, 2)
        return self.ln_post(x[:, 0, :]) @ self.image_projection

    def encode_text(self, text):
        x = self.token_embedding(text) + self.text_positions[: text.shape[1]]
        x = self.ln_final(self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2))
        return x[torch.arange(len(x)), text.argmax(dim=-1)] @ self.text_projection

    def forward(self, image, text):
        a, b = self.encode_image(image), self.encode_text(text)
        a, b = a / a.norm(dim=1, keepdim=True), b / b.norm(dim=1, keepdim=True)
        return self.logit_scale.exp() * a @ b.t()


def build():
    torch.manual_seed(17)
    return Clip()


def inputs():
    generator = np.random.default_rng(4)
    return generator.normal(size=(2, 3, 12, 12)).astype("float32"), generator.integers(1, 63, (2, 10))
