"""Leaves NumPy raising where it warned."""

import numpy as np
from plain import right


def softmax(x):
    np.seterr(all="raise")
    return right(x)
