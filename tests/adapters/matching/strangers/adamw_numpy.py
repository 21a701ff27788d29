import math

import numpy as np


def global_norm(grads):
    return math.sqrt(sum(float((g ** 2).sum()) for g in grads))


def adamw_step(param, grad, m, v, t, lr=3e-4, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1):
    """One AdamW update (decoupled weight decay, arXiv:1711.05101).

    m, v: running first and second moments, zero at the start. t: 1 for the first step.
    Returns the new (param, m, v); nothing is changed in place.
    """
    if weight_decay:
        grad = grad + weight_decay * param
    m = beta1 * m + (1.0 - beta1) * grad
    v = beta2 * v + (1.0 - beta2) * grad ** 2
    m_hat = m / (1.0 - beta1 ** t)
    v_hat = v / (1.0 - beta2 ** t)
    param = param - lr * m_hat / (np.sqrt(v_hat) + eps)
    return param, m, v


def train_step(params, grads, state, lr, max_norm=1.0, weight_decay=0.1):
    """params, grads: lists of arrays; state: {"t": int, "m": [...], "v": [...]}.
    Clips to max_norm, then one AdamW step for each parameter."""
    norm = global_norm(grads)
    if norm > max_norm:
        grads = [g * (max_norm / norm) for g in grads]
    t = state["t"] + 1
    new = [
        adamw_step(p, g, m, v, t, lr=lr, weight_decay=weight_decay)
        for p, g, m, v in zip(params, grads, state["m"], state["v"])
    ]
    state = {"t": t, "m": [n[1] for n in new], "v": [n[2] for n in new]}
    return [n[0] for n in new], state
