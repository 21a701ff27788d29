"""T5 by hand in PyTorch: one class for both stacks, the relative bias computed once for each."""

import math

import t5_hf
import torch
from torch import nn


class T5Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return self.g * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def bucket(relative, bidirectional, buckets=8, furthest=20):
    """The bucket of a key's position minus the query's."""
    found = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        found = (relative > 0).long() * buckets
        distance = relative.abs()
    else:
        distance = (-relative).clamp(min=0)
    exact = buckets // 2
    large = exact + (
        torch.log(distance.clamp(min=1).float() / exact) / math.log(furthest / exact) * (buckets - exact)
    ).long().clamp(max=buckets - exact - 1)
    return found + torch.where(distance < exact, distance, large)


class Attention(nn.Module):
    def __init__(self, d=32, heads=4, size=8):
        super().__init__()
        self.heads, self.size = heads, size
        self.q = nn.Linear(d, heads * size, bias=False)
        self.kv = nn.Linear(d, 2 * heads * size, bias=False)
        self.out = nn.Linear(heads * size, d, bias=False)

    def forward(self, x, memory, bias):
        b = x.shape[0]
        q = self.q(x).view(b, -1, self.heads, self.size)
        k, v = self.kv(memory).view(b, -1, 2, self.heads, self.size).unbind(2)
        weights = (torch.einsum("blhd,bshd->bhls", q, k) + bias).softmax(-1)
        return self.out(torch.einsum("bhls,bshd->blhd", weights, v).flatten(2))


class Layer(nn.Module):
    def __init__(self, decoder, d=32, hidden=56):
        super().__init__()
        self.norm_self, self.self_attention = T5Norm(d), Attention()
        if decoder:
            self.norm_cross, self.cross_attention = T5Norm(d), Attention()
        self.norm_ff = T5Norm(d)
        self.wi = nn.Linear(d, hidden, bias=False)
        self.wo = nn.Linear(hidden, d, bias=False)

    def forward(self, x, bias, memory=None, padding=None):
        y = self.norm_self(x)
        x = x + self.self_attention(y, y, bias)
        if memory is not None:
            x = x + self.cross_attention(self.norm_cross(x), memory, padding)
        return x + self.wo(torch.relu(self.wi(self.norm_ff(x))))


class Stack(nn.Module):
    def __init__(self, decoder, d=32, heads=4, layers=2):
        super().__init__()
        self.decoder = decoder
        self.relative = nn.Embedding(8, heads)
        self.layers = nn.ModuleList([Layer(decoder) for _ in range(layers)])
        self.norm = T5Norm(d)

    def forward(self, x, padding, memory=None):
        n = x.shape[1]
        places = torch.arange(n)
        relative = places[None, :] - places[:, None]
        bias = self.relative(bucket(relative, not self.decoder)).permute(2, 0, 1)[None]
        if self.decoder:
            bias = bias.masked_fill(relative > 0, float("-inf"))
        else:
            bias = bias + padding
        for layer in self.layers:
            x = layer(x, bias, memory, padding)
        return self.norm(x)


class T5(nn.Module):
    def __init__(self, vocab=79, d=32):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocab, d))
        self.encoder, self.decoder = Stack(False), Stack(True)

    def forward(self, source, attended, target):
        padding = torch.zeros(attended.shape).masked_fill(attended == 0, float("-inf"))[:, None, None, :]
        padding = padding.to(self.table.dtype)
        memory = self.encoder(self.table[source], padding)
        x = self.decoder(self.table[target], padding, memory)
        return (x * x.shape[-1] ** -0.5) @ self.table.T


def attention(new, at, hf, old):
    new[f"{at}.q.weight"] = hf[f"{old}.q.weight"]
    new[f"{at}.kv.weight"] = torch.cat([hf[f"{old}.k.weight"], hf[f"{old}.v.weight"]])
    new[f"{at}.out.weight"] = hf[f"{old}.o.weight"]


def stack(new, hf, name):
    for i in range(2):
        at, old = f"{name}.layers.{i}", f"t5.{name}.block.{i}.layer"
        attention(new, f"{at}.self_attention", hf, f"{old}.0.SelfAttention")
        new[f"{at}.norm_self.g"] = hf[f"{old}.0.layer_norm.weight"]
        last = 1
        if name == "decoder":
            attention(new, f"{at}.cross_attention", hf, f"{old}.1.EncDecAttention")
            new[f"{at}.norm_cross.g"] = hf[f"{old}.1.layer_norm.weight"]
            last = 2
        new[f"{at}.wi.weight"] = hf[f"{old}.{last}.DenseReluDense.wi.weight"]
        new[f"{at}.wo.weight"] = hf[f"{old}.{last}.DenseReluDense.wo.weight"]
        new[f"{at}.norm_ff.g"] = hf[f"{old}.{last}.layer_norm.weight"]
    new[f"{name}.norm.g"] = hf[f"t5.{name}.final_layer_norm.weight"]
    table = hf[f"t5.{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    new[f"{name}.relative.weight"] = table


def convert(hf):
    new = {"table": hf["t5.shared.weight"]}
    stack(new, hf, "encoder")
    stack(new, hf, "decoder")
    return new


def build():
    model = T5().eval()
    model.load_state_dict(convert(t5_hf.build().state_dict()))
    return model


inputs = t5_hf.inputs
