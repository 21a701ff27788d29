"""Attention in plain loops, as a student writes it."""

import math

import numpy as np


def attention_weights(query, key, mask=None, is_causal=False):
    B, H, L, D = query.shape
    S = key.shape[2]
    result = np.zeros((B, H, L, S), dtype=query.dtype)
    for b in range(B):
        for h in range(H):
            for i in range(L):
                row = []
                for j in range(S):
                    dot = float(query[b, h, i] @ key[b, h, j]) / math.sqrt(D)
                    shown = not (is_causal and j > i)
                    if mask is not None:
                        full = np.broadcast_to(mask, (B, H, L, S))
                        shown = shown and bool(full[b, h, i, j])
                    row.append(dot if shown else -math.inf)
                top = max(row)
                if top == -math.inf:
                    continue
                exps = [math.exp(z - top) for z in row]
                result[b, h, i] = np.array(exps) / sum(exps)
    return result


def sinusoidal_positions(length, d_model):
    table = np.zeros((length, d_model))
    for p in range(length):
        for i in range(0, d_model, 2):
            angle = p / 10000 ** (i / d_model)
            table[p, i] = math.sin(angle)
            table[p, i + 1] = math.cos(angle)
    return table
