"""One step of speculative sampling: the draft's token stays, or another is drawn instead."""

import numpy as np


def acceptance(token, p_target, p_draft):
    return min(1.0, float(p_target[token] / p_target.max()))


def speculative_distribution(p_target, p_draft):
    """The distribution of the token that comes out, over all draws."""
    out = np.zeros_like(p_target)
    residual = np.maximum(p_target - p_draft, 0)
    residual = residual / residual.sum() if residual.sum() > 0 else p_target
    for token, chance in enumerate(p_draft):
        accepted = acceptance(token, p_target, p_draft)
        out[token] += chance * accepted
        out += chance * (1 - accepted) * residual
    return out
