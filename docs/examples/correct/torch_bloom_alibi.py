"""ALiBi as Bloom computes it: slopes by a cumulative product, distances by a cumulative sum."""

import math

import torch

framework = "torch"


def slopes(num_heads):
    closest = 2 ** math.floor(math.log2(num_heads))
    base = torch.tensor(2 ** (-(2 ** -(math.log2(closest) - 3))), dtype=torch.float64)
    found = torch.cumprod(base.repeat(closest), dim=0)
    if closest != num_heads:
        extra_base = torch.tensor(2 ** (-(2 ** -(math.log2(2 * closest) - 3))), dtype=torch.float64)
        remaining = min(closest, num_heads - closest)
        found = torch.cat([found, extra_base ** torch.arange(1, 1 + 2 * remaining, 2, dtype=torch.float64)])
    return found


def alibi_bias(num_heads, query_length, key_length):
    keys = torch.ones(key_length, dtype=torch.int64).cumsum(0) - 1
    queries = keys[-query_length:] if query_length else keys[:0]
    distance = queries[:, None] - keys[None, :]
    return (-slopes(num_heads)[:, None, None] * distance).float()


def relative_position_bucket(relative_position, *, bidirectional=True, num_buckets=32, max_distance=128):
    buckets = torch.zeros_like(relative_position)
    if bidirectional:
        num_buckets //= 2
        buckets += (relative_position > 0).to(torch.long) * num_buckets
        distance = torch.abs(relative_position)
    else:
        distance = -torch.min(relative_position, torch.zeros_like(relative_position))
    max_exact = num_buckets // 2
    far = torch.log(distance.float() / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)
    far = torch.min(max_exact + far.to(torch.long), torch.full_like(distance, num_buckets - 1))
    return buckets + torch.where(distance < max_exact, distance, far)
