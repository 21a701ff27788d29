"""Dropout and its gradient in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"


def mask_of(shape, rate, seed):
    rng = np.random.default_rng(seed)
    return rng.random(shape) >= rate


def dropout(x, *, rate, seed, training=True):
    if not training:
        return x.copy()
    mask = mask_of(x.shape, rate, seed).astype(x.dtype)
    return x * mask / x.dtype.type(1 - rate)


def dropout_backward(x, grad_output, *, rate, seed, training=True):
    if not training:
        return grad_output.copy()
    keep = mask_of(x.shape, rate, seed).astype(x.dtype)
    return grad_output * keep / x.dtype.type(1 - rate)
