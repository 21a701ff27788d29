"""The same translator with layers of one's own in torch: three projections each, sequence last, norms as functions."""

import math

import torch
import torch.nn.functional as F
import translate_torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.merge = nn.Linear(dim, dim)

    def separate(self, x):
        return x.unflatten(-1, (self.heads, -1)).movedim(-2, -3)

    def forward(self, x, memory, hidden=None):
        q, k, v = self.separate(self.query(x)), self.separate(self.key(memory)), self.separate(self.value(memory))
        energy = torch.einsum("bhqd,bhkd->bhqk", q, k)
        if hidden is not None:
            energy = energy.masked_fill(hidden, float("-1e20"))
        attention = torch.softmax(energy / math.sqrt(q.shape[-1]), dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", attention, v)
        return self.merge(mixed.flatten(-2))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads, inner):
        super().__init__()
        self.attention = Heads(dim, heads)
        self.first, self.second = nn.Linear(dim, inner), nn.Linear(inner, dim)
        self.norm_a, self.norm_b = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        x = self.norm_a(x + self.attention(x, x))
        return self.norm_b(x + self.second(F.relu(self.first(x))))


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads, inner):
        super().__init__()
        self.attention, self.cross = Heads(dim, heads), Heads(dim, heads)
        self.first, self.second = nn.Linear(dim, inner), nn.Linear(inner, dim)
        self.norm_a, self.norm_b, self.norm_c = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, y, memory, hidden):
        y = self.norm_a(y + self.attention(y, y, hidden))
        y = self.norm_b(y + self.cross(y, memory))
        return self.norm_c(y + self.second(F.relu(self.first(y))))


def sinusoids(length, dim):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Translator(nn.Module):
    def __init__(self, dim=32, heads=4, inner=40):
        super().__init__()
        self.dim = dim
        self.source, self.target = nn.Embedding(53, dim), nn.Embedding(59, dim)
        self.encoder = nn.ModuleList([EncoderLayer(dim, heads, inner) for _ in range(2)])
        self.decoder = nn.ModuleList([DecoderLayer(dim, heads, inner) for _ in range(2)])
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.words = nn.Linear(dim, 59)

    def embed(self, table, tokens):
        return table(tokens) * self.dim**0.5 + sinusoids(tokens.shape[1], self.dim)

    def forward(self, source, target):
        x = self.embed(self.source, source)
        for layer in self.encoder:
            x = layer(x)
        memory = self.encoder_norm(x)
        y = self.embed(self.target, target)
        later = torch.ones(target.shape[1], target.shape[1]).triu(1).bool()
        for layer in self.decoder:
            y = layer(y, memory, later)
        return self.words(self.decoder_norm(y))


def heads(state, old, new):
    weights, biases = state[f"{old}.in_proj_weight"].chunk(3), state[f"{old}.in_proj_bias"].chunk(3)
    found = {}
    for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        found[f"{new}.{name}.weight"], found[f"{new}.{name}.bias"] = weight, bias
    for end in ("weight", "bias"):
        found[f"{new}.merge.{end}"] = state[f"{old}.out_proj.{end}"]
    return found


def layer(state, old, new, names):
    found = heads(state, f"{old}.self_attn", f"{new}.attention")
    for here, there in names.items():
        for end in ("weight", "bias"):
            found[f"{new}.{there}.{end}"] = state[f"{old}.{here}.{end}"]
    return found


def convert(state):
    encoder = {"linear1": "first", "linear2": "second", "norm1": "norm_a", "norm2": "norm_b"}
    decoder = {**encoder, "norm3": "norm_c"}
    new = {"source.weight": state["src_emb.weight"], "target.weight": state["tgt_emb.weight"]}
    for i in range(2):
        new |= layer(state, f"transformer.encoder.layers.{i}", f"encoder.{i}", encoder)
        new |= layer(state, f"transformer.decoder.layers.{i}", f"decoder.{i}", decoder)
        new |= heads(state, f"transformer.decoder.layers.{i}.multihead_attn", f"decoder.{i}.cross")
    for end in ("weight", "bias"):
        new[f"encoder_norm.{end}"] = state[f"transformer.encoder.norm.{end}"]
        new[f"decoder_norm.{end}"] = state[f"transformer.decoder.norm.{end}"]
        new[f"words.{end}"] = state[f"generator.{end}"]
    return new


def build():
    model = Translator()
    model.load_state_dict(convert(translate_torch.build().state_dict()))
    return model.eval()
