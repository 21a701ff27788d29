"""The text tower of CLIP as OpenAI wrote it: nn.MultiheadAttention, length first, a bare projection."""

from collections import OrderedDict

import clip_hf
import torch
from torch import nn


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model, n_head, inner, attn_mask):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_head)
        self.ln_1 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            OrderedDict(
                [
                    ("c_fc", nn.Linear(d_model, inner)),
                    ("gelu", QuickGELU()),
                    ("c_proj", nn.Linear(inner, d_model)),
                ]
            )
        )
        self.ln_2 = nn.LayerNorm(d_model)
        self.register_buffer("attn_mask", attn_mask, persistent=False)

    def attention(self, x):
        mask = self.attn_mask[: len(x), : len(x)].to(x.dtype)
        return self.attn(x, x, x, need_weights=False, attn_mask=mask)[0]

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class TextTower(nn.Module):
    def __init__(self, vocab=60, width=32, heads=4, inner=52, layers=2, context=16, out=20):
        super().__init__()
        mask = torch.full((context, context), float("-inf")).triu_(1)
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(torch.empty(context, width))
        self.resblocks = nn.Sequential(*[ResidualAttentionBlock(width, heads, inner, mask) for _ in range(layers)])
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, out))

    def forward(self, text):
        x = self.token_embedding(text)
        x = x + self.positional_embedding[: text.shape[1]]
        x = x.permute(1, 0, 2)
        x = self.resblocks(x)
        x = x.permute(1, 0, 2)
        x = self.ln_final(x)
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection


def convert(hf):
    new = {
        "token_embedding.weight": hf["text_model.embeddings.token_embedding.weight"],
        "positional_embedding": hf["text_model.embeddings.position_embedding.weight"],
        "text_projection": hf["text_projection.weight"].T,
    }
    for end in ("weight", "bias"):
        new[f"ln_final.{end}"] = hf[f"text_model.final_layer_norm.{end}"]
        for i in range(2):
            old, at = f"text_model.encoder.layers.{i}.", f"resblocks.{i}."
            parts = [hf[f"{old}self_attn.{name}_proj.{end}"] for name in "qkv"]
            new[f"{at}attn.in_proj_{end}"] = torch.cat(parts)
            new[f"{at}attn.out_proj.{end}"] = hf[f"{old}self_attn.out_proj.{end}"]
            new[f"{at}ln_1.{end}"] = hf[f"{old}layer_norm1.{end}"]
            new[f"{at}ln_2.{end}"] = hf[f"{old}layer_norm2.{end}"]
            new[f"{at}mlp.c_fc.{end}"] = hf[f"{old}mlp.fc1.{end}"]
            new[f"{at}mlp.c_proj.{end}"] = hf[f"{old}mlp.fc2.{end}"]
    return new


def build():
    model = TextTower()
    model.load_state_dict(convert(clip_hf.build().state_dict()))
    return model.eval()
