"""Softmax over the last axis in half precision, in one pass over the elements."""

import numpy as np

dtypes = ("float16",)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    total = np.zeros(x.shape[:-1], x.dtype)
    for index in range(x.shape[-1]):
        total = (total + e[..., index]).astype(total.dtype)
    return (e / total[..., None]).astype(x.dtype)
