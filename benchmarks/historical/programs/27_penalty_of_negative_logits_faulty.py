"""A penalty on tokens that were generated before."""

import numpy as np


def repetition_penalty(logits, tokens, penalty=1.3):
    """logits: (batch, vocabulary); tokens: (batch, length)."""
    out = np.array(logits, copy=True)
    for row, seen in zip(out, tokens):
        seen = np.unique(seen)
        row[seen] = row[seen] / penalty
    return out
