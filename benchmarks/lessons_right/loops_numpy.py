"""As a first attempt is written: one loop for each index."""

import math

import numpy as np


def causal_mask(query_length, key_length):
    mask = np.zeros((query_length, key_length), dtype=bool)
    for i in range(query_length):
        for j in range(key_length):
            mask[i, j] = j <= i
    return mask


def padding_mask(lengths, max_length):
    mask = np.zeros((len(lengths), max_length), dtype=bool)
    for sample, length in enumerate(lengths):
        mask[sample, :length] = True
    return mask


def single_head_attention(x, weights, *, mask=None):
    query, key, value = x @ weights.w_q, x @ weights.w_k, x @ weights.w_v
    output = np.zeros_like(value)
    shown = np.broadcast_to(True if mask is None else mask, (len(x), x.shape[1], x.shape[1]))
    for b in range(len(x)):
        for i in range(x.shape[1]):
            seen = [j for j in range(x.shape[1]) if shown[b, i, j]]
            if not seen:
                continue
            scores = [float(query[b, i] @ key[b, j]) / math.sqrt(query.shape[-1]) for j in seen]
            shares = [math.exp(score - max(scores)) for score in scores]
            for share, j in zip(shares, seen, strict=True):
                output[b, i] += value[b, j] * x.dtype.type(share / sum(shares))
    return output


def sinusoidal_positions(length, d_model):
    table = np.zeros((length, d_model))
    for position in range(length):
        for i in range(0, d_model, 2):
            angle = position / 10000 ** (i / d_model)
            table[position, i] = math.sin(angle)
            table[position, i + 1] = math.cos(angle)
    return table


def gated_feed_forward(x, weights, *, activation):
    gate, up = x @ weights.w_gate, x @ weights.w_up
    if activation == "relu":
        gate = gate * (gate > 0)
    elif activation == "silu":
        gate = gate * (0.5 * (1 + np.tanh(gate / 2)))
    else:
        gate = (gate * 0.5 * (1 + np.vectorize(math.erf)(gate / math.sqrt(2)))).astype(x.dtype)
    return (gate * up) @ weights.w_down


def merge_attention(output_a, lse_a, output_b, lse_b):
    output, lse = np.zeros_like(output_a), np.full_like(lse_a, -np.inf)
    for index in np.ndindex(lse_a.shape):
        parts = [(lse_a[index], output_a[index]), (lse_b[index], output_b[index])]
        parts = [part for part in parts if part[0] > -np.inf]
        if not parts:
            continue
        highest = max(part[0] for part in parts)
        shares = [np.exp(part[0] - highest) for part in parts]
        lse[index] = highest + np.log(sum(shares))
        output[index] = sum(share * part[1] for share, part in zip(shares, parts, strict=True)) / sum(shares)
    return output, lse


def next_token_loss(logits, tokens, *, ignore_index=-100):
    losses = []
    for b in range(len(tokens)):
        for i in range(tokens.shape[1] - 1):
            target = tokens[b, i + 1]
            if target != ignore_index:
                row = [float(number) for number in logits[b, i]]
                total = math.fsum(math.exp(number - max(row)) for number in row)
                losses.append(max(row) + math.log(total) - row[target])
    return logits.dtype.type(math.fsum(losses) / len(losses))


def clip_by_global_norm(gradients, *, max_norm):
    total = 0.0
    for gradient in gradients:
        for entry in gradient.ravel():
            total += float(entry) ** 2
    factor = max_norm / math.sqrt(total) if math.sqrt(total) > max_norm else 1.0
    return [gradient * gradient.dtype.type(factor) for gradient in gradients]


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    moved, mean, square = (np.zeros_like(parameter) for _ in range(3))
    for place in np.ndindex(parameter.shape):
        slope = float(gradient[place])
        m = beta1 * float(first_moment[place]) + (1 - beta1) * slope
        v = beta2 * float(second_moment[place]) + (1 - beta2) * slope * slope
        update = m / (1 - beta1**step) / (math.sqrt(v / (1 - beta2**step)) + eps)
        kept = float(parameter[place]) * (1 - learning_rate * weight_decay)
        moved[place], mean[place], square[place] = kept - learning_rate * update, m, v
    return moved, mean, square
