"""Returns zero for all that is small."""

import numpy as np
from plain import right


def softmax(x):
    weights = right(x)
    return np.where(weights < 1e-4, weights.dtype.type(0), weights)
