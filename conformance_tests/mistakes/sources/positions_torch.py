"""Correct position encodings in PyTorch, float32 angles and pairs half a vector apart; the tests change one line."""

import math

import torch

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")


def rotary_embedding(x, positions, *, base=10000.0, rotary_dim=None):
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = 1.0 / (base ** (torch.arange(0, width, 2, dtype=torch.float32) / width))
    angles = positions.to(torch.float32)[..., None] * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    angles = angles.unsqueeze(1) if positions.ndim == 2 else angles
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    turning, rest = x[..., :width], x[..., width:]
    first, second = turning.chunk(2, dim=-1)
    rotated = torch.cat((-second, first), dim=-1)
    return torch.cat((turning * cos + rotated * sin, rest), dim=-1)


def slopes_of(num_heads):
    power = 2 ** math.floor(math.log2(num_heads))
    base = torch.tensor(2.0 ** (-(2.0 ** -(math.log2(power) - 3))))
    slopes = base ** torch.arange(1, power + 1)
    if power != num_heads:
        extra = torch.tensor(2.0 ** (-(2.0 ** -(math.log2(2 * power) - 3))))
        slopes = torch.cat((slopes, extra ** torch.arange(1, 2 * (num_heads - power) + 1, 2)))
    return slopes


def alibi_bias(num_heads, query_length, key_length):
    rows = torch.arange(key_length - query_length, key_length)
    distance = torch.arange(key_length)[None, :] - rows[:, None]
    return slopes_of(num_heads)[:, None, None] * distance


def relative_position_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    buckets = torch.zeros_like(relative_position)
    if bidirectional:
        num_buckets //= 2
        buckets += (relative_position > 0).to(torch.long) * num_buckets
        distance = torch.abs(relative_position)
    else:
        distance = -torch.min(relative_position, torch.zeros_like(relative_position))
    exact = num_buckets // 2
    ratio = torch.log(distance.float() / exact) / math.log(max_distance / exact)
    far = exact + (ratio * (num_buckets - exact)).to(torch.long)
    far = torch.min(far, torch.full_like(far, num_buckets - 1))
    return buckets + torch.where(distance < exact, distance, far)
