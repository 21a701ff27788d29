"""Keeps 16 mebibytes at each call, as a model does that is compiled again each time."""

import numpy as np
from plain import right

kept = []


def softmax(x):
    kept.append(np.ones(2**21))
    return right(x)
