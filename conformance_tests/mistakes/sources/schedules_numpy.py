"""A correct implementation in plain Python; the tests change one line at a time."""

import math

framework = "numpy"


def warmup_cosine_learning_rate(step, *, peak, least, warmup_steps, total_steps):
    if step < warmup_steps:
        return peak * step / warmup_steps
    if step > total_steps:
        return least
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    coefficient = 0.5 * (1.0 + math.cos(math.pi * progress))
    return least + coefficient * (peak - least)


def warmup_inverse_root_learning_rate(step, *, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
