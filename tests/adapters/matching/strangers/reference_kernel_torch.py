"""Slow references for tests/test_flash_attn.py."""
import math

import torch


def construct_local_mask(seqlen_q, seqlen_k, window_size=(-1, -1), device=None):
    """True where a key is out of reach. window_size is (left, right), -1 means no limit.

    The queries are the last seqlen_q positions of the keys.
    """
    row_idx = torch.arange(seqlen_q, device=device, dtype=torch.long)[:, None] + seqlen_k - seqlen_q
    col_idx = torch.arange(seqlen_k, device=device, dtype=torch.long)[None, :]
    left, right = window_size
    out = torch.zeros(seqlen_q, seqlen_k, dtype=torch.bool, device=device)
    if left >= 0:
        out |= col_idx < row_idx - left
    if right >= 0:
        out |= col_idx > row_idx + right + 1
    return out


def attention_ref(
    q,
    k,
    v,
    causal=False,
    window_size=(-1, -1),  # -1 means infinite window size
    softcap=0.0,
):
    """
    Arguments:
        q: (batch_size, seqlen_q, nheads, head_dim)
        k: (batch_size, seqlen_k, nheads, head_dim)
        v: (batch_size, seqlen_k, nheads, head_dim)
        causal: the last query sees all keys, the one before it all but the last, and so on
        window_size: (int, int), left and right window size
        softcap: float, 0.0 means no cap; else scores become softcap * tanh(scores / softcap)
    Output:
        output: (batch_size, seqlen_q, nheads, head_dim)
        attention: (batch_size, nheads, seqlen_q, seqlen_k), softmax after dropout
    """
    if causal:
        window_size = (window_size[0], 0)
    d = q.shape[-1]
    scores = torch.einsum("bthd,bshd->bhts", q / math.sqrt(d), k)
    if softcap > 0:
        scores = torch.tanh(scores / softcap) * softcap
    if window_size[0] >= 0 or window_size[1] >= 0:
        local_mask = construct_local_mask(q.shape[1], k.shape[1], window_size, q.device)
        scores.masked_fill_(local_mask, float("-inf"))
    attention = torch.softmax(scores, dim=-1).to(v.dtype)
    output = torch.einsum("bhts,bshd->bthd", attention, v)
    return output, attention
