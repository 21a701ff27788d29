import numpy as np


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))
