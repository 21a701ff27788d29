"""The gradients of layer and RMS normalisation, written by hand in NumPy."""

import numpy as np

framework = "numpy"


def layer_norm_backward(x, gamma, beta, grad_output, *, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + x.dtype.type(eps))
    normalised = centred / deviation
    scaled = grad_output * gamma
    mean = scaled.mean(axis=-1, keepdims=True)
    along = normalised * (scaled * normalised).mean(axis=-1, keepdims=True)
    grad_x = (scaled - mean - along) / deviation
    rows = tuple(range(x.ndim - 1))
    grad_gamma = (grad_output * normalised).sum(axis=rows)
    grad_beta = grad_output.sum(axis=rows)
    return grad_x, grad_gamma, grad_beta


def rms_norm_backward(x, gamma, grad_output, *, eps):
    root = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + x.dtype.type(eps))
    unit = x / root
    gained = grad_output * gamma
    grad_x = (gained - unit * np.mean(gained * unit, axis=-1, keepdims=True)) / root
    grad_gain = np.sum(grad_output * unit, axis=tuple(range(x.ndim - 1)))
    return grad_x, grad_gain
