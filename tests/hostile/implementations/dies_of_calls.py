"""Ends its process at the eighth call in it."""

import os

from plain import right

calls = []


def softmax(x):
    calls.append(None)
    if len(calls) == 8:
        os._exit(9)
    return right(x)
