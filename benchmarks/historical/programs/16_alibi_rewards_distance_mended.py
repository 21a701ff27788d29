"""A score modification: ALiBi for causal attention."""

import torch


def generate_alibi_bias(H):
    def alibi_mod(score, b, h, q_idx, kv_idx):
        scale = torch.exp2(-((h + 1) * 8.0 / H))
        bias = (kv_idx - q_idx) * scale
        return score + bias

    return alibi_mod


def alibi_bias(num_heads, query_length, key_length):
    """The bias as an array of heads, queries and keys, to look at."""
    h, q, k = (torch.arange(size) for size in (num_heads, query_length, key_length))
    mod = generate_alibi_bias(num_heads)
    return mod(torch.zeros(()), None, h[:, None, None].float(), q[None, :, None] + key_length - query_length, k[None, None])
