"""Pairs of a function and parameters whose function is no plain one."""

from functools import partial, wraps

import numpy as np

draw = np.random.default_rng(0).normal
PARAMETERS = {
    "table": draw(size=(96, 48)),
    "up": draw(size=(48, 96)) * 0.1,
    "down": draw(size=(96, 48)) * 0.1,
    "gain": 1 + draw(size=48) * 0.1,
}


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def by_name(tokens, table, up, down, gain, repeats):
    x = table[tokens]
    for _ in range(repeats):
        x = x + np.maximum(norm(x) @ up, 0) @ down
    return norm(x) * gain @ table.T


def in_one(parameters, tokens, repeats):
    return by_name(tokens, **parameters, repeats=repeats)


class Called:
    def __init__(self, repeats):
        self.repeats = repeats

    def __call__(self, parameters, tokens):
        return in_one(parameters, tokens, self.repeats)


@wraps(in_one)
def _wrapped(parameters, tokens):
    return in_one(parameters, tokens, 2)


def partial_by_name():
    return partial(by_name, repeats=2), PARAMETERS


def partial_in_one():
    return partial(in_one, repeats=2), PARAMETERS


def partial_of_partial():
    return partial(partial(in_one), repeats=2), PARAMETERS


def an_object():
    return Called(2), PARAMETERS


def inputs():
    return np.array([3, 14, 15, 92, 6, 53])
