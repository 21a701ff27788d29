"""Seeds the generators that everybody draws from."""

import random

import numpy as np
from plain import right


def softmax(x):
    random.seed(0)
    np.random.seed(0)
    return right(x)
