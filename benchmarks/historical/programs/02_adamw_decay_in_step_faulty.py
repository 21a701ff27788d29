"""One step of AdamW on plain arrays."""

import numpy as np


def adamw_step(parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay):
    first = beta1 * first_moment + (1 - beta1) * gradient
    second = beta2 * second_moment + (1 - beta2) * gradient**2
    m_hat = first / (1 - beta1**step)
    v_hat = second / (1 - beta2**step)
    moved = parameter - learning_rate * (m_hat + weight_decay * parameter) / (np.sqrt(v_hat) + eps)
    return moved, first, second
