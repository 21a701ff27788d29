"""Writes without end, and returns what is right on the other side of the flood."""

import sys

from plain import right


def softmax(x):
    for _ in range(200):
        print("flood " * 500)
        sys.stderr.write("and more of it " * 100)
    return right(x) + 1
