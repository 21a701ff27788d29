"""Returns its own argument, overwritten with the result."""

from plain import right


def softmax(x):
    x[...] = right(x)
    return x
