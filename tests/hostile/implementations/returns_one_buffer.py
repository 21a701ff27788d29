"""Returns each result in the same memory."""

import numpy as np
from plain import right

_memory = np.zeros(100_000, "float32")


def softmax(x):
    result = _memory[: x.size].reshape(x.shape)
    result[...] = right(x)
    return result
