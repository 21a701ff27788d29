"""A score modification: ALiBi for causal attention."""

import math

import torch


def get_slopes(H):
    n = 2 ** math.floor(math.log2(H))
    exponents = torch.cat((torch.arange(1, n + 1) * 8.0 / n, (2 * torch.arange(H - n) + 1) * 4.0 / n))
    return torch.exp2(-exponents)


def generate_alibi_bias(H):
    slopes = get_slopes(H)

    def alibi_mod(score, b, h, q_idx, kv_idx):
        bias = (q_idx - kv_idx) * slopes[h]
        return score + bias

    return alibi_mod


def alibi_bias(num_heads, query_length, key_length):
    """The bias as an array of heads, queries and keys, to look at."""
    h, q, k = (torch.arange(size) for size in (num_heads, query_length, key_length))
    mod = generate_alibi_bias(num_heads)
    return mod(torch.zeros(()), None, h[:, None, None], q[None, :, None] + key_length - query_length, k[None, None])
