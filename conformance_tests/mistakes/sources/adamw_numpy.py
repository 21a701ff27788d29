"""A correct implementation in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    decayed = parameter * (1 - learning_rate * weight_decay)
    m = beta1 * first_moment + (1 - beta1) * gradient
    v = beta2 * second_moment + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    moved = decayed - learning_rate * m_hat / (np.sqrt(v_hat) + eps)
    return moved, m, v
