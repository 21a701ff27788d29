"""Takes memory without end."""

import numpy as np


def softmax(x):
    taken = []
    while True:
        taken.append(np.ones(2**23))
