"""Closes every file descriptor."""

import os

from plain import right


def softmax(x):
    os.closerange(0, 1000)
    return right(x)
