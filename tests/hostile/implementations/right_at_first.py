"""Is right on its first calls only."""

from plain import right

_calls = []


def softmax(x):
    _calls.append(1)
    return right(x) if len(_calls) < 5 else right(-x)
