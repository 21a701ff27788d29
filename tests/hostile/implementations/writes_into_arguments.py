"""Works in the memory of its argument."""

import numpy as np


def softmax(x):
    x -= x.max(axis=-1, keepdims=True)
    shifted = np.exp(x)
    return shifted / shifted.sum(axis=-1, keepdims=True)
