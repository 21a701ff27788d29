"""The small GPT as an ONNX file: a twin with a fused projection, exported by torch."""

import contextlib
import io
import logging
import warnings

import onnx
import small_gpt
import torch
from torch import nn
from torch.nn import functional as F


class FusedAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=-1)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (C // self.heads) ** -0.5
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        att = F.softmax(att.masked_fill(hidden, -1e9), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), FusedAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc, self.c_proj = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x))))


class Exported(nn.Module):
    def __init__(self, vocabulary=65, width=30, heads=3, context=18, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


def convert(old):
    new = {"wte.weight": old["token_embedding.weight"], "wpe.weight": old["position_embedding.weight"]}
    for end in ("weight", "bias"):
        new[f"ln_f.{end}"], new[f"head.{end}"] = old[f"ln_f.{end}"], old[f"lm_head.{end}"]
        for i in range(2):
            a, b = f"blocks.{i}", f"h.{i}"
            new[f"{b}.attn.c_attn.{end}"] = torch.cat([old[f"{a}.sa.{n}.{end}"] for n in ("query", "key", "value")])
            new[f"{b}.attn.c_proj.{end}"] = old[f"{a}.sa.proj.{end}"]
            new[f"{b}.ln_1.{end}"], new[f"{b}.ln_2.{end}"] = old[f"{a}.ln1.{end}"], old[f"{a}.ln2.{end}"]
            new[f"{b}.c_fc.{end}"] = old[f"{a}.ffwd.0.{end}"]
            new[f"{b}.c_proj.{end}"] = old[f"{a}.ffwd.2.{end}"]
    return new


def exported(model, tokens):
    """Return the model as ONNX, without what the exporter prints."""
    file = io.BytesIO()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            program = torch.onnx.export(model, (tokens,), dynamo=True, verbose=False)
        program.save(file)
    finally:
        logging.disable(logging.NOTSET)
    return onnx.load_from_string(file.getvalue())


def build():
    model = Exported().eval()
    model.load_state_dict(convert(small_gpt.build().state_dict()))
    return exported(model, torch.as_tensor(inputs()))


inputs = small_gpt.inputs
