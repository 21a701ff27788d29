"""Does not return from the eighth call in its process."""

import time

from plain import right

calls = []


def softmax(x):
    calls.append(None)
    if len(calls) == 8:
        time.sleep(100)
    return right(x)
