"""A correct implementation in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def clip_by_global_norm(gradients, *, max_norm):
    total = 0.0
    for gradient in gradients:
        total = total + np.sum(gradient**2)
    norm = np.sqrt(total)
    factor = max_norm / norm if norm > max_norm else 1.0
    return [gradient * factor for gradient in gradients]
