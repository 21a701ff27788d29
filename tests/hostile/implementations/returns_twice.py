"""Is right, and forks a child that returns from the call as well."""

import os

from plain import right


def softmax(x):
    os.fork()
    return right(x)
