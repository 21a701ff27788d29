"""The backward passes of feed-forward networks in NumPy."""

from types import SimpleNamespace

import numpy as np

framework = "numpy"
dtypes = ("float32", "float64")
conventions = {"gelu_form": "tanh"}

ROOT = np.sqrt(2 / np.pi)


def relu_and_slope(z):
    return np.maximum(z, 0), (z > 0).astype(z.dtype)


def gelu_and_slope(z):
    # Far from zero the cube overflows, where the hyperbolic tangent has long been 1.
    near = np.clip(z, -30, 30)
    bend = np.tanh(z.dtype.type(ROOT) * (near + z.dtype.type(0.044715) * near**3))
    inner = z.dtype.type(ROOT) * (1 + z.dtype.type(3 * 0.044715) * near**2)
    return z * (1 + bend) / 2, (1 + bend) / 2 + near * (1 - bend**2) * inner / 2


def silu_and_slope(z):
    gate = 1 / (1 + np.exp(-np.clip(z, -80, 80)))
    return z * gate, gate * (1 + z * (1 - gate))


FUNCTIONS = {"relu": relu_and_slope, "gelu": gelu_and_slope, "silu": silu_and_slope}


def vectors_of(array):
    return array.reshape(-1, array.shape[-1])


def feed_forward_backward(x, weights, grad_output, *, activation):
    z = x @ weights.w_1
    if weights.b_1 is not None:
        z = z + weights.b_1
    hidden, slope = FUNCTIONS[activation](z)
    grad_hidden = grad_output @ weights.w_2.T
    grad_z = grad_hidden * slope
    return grad_z @ weights.w_1.T, SimpleNamespace(
        w_1=vectors_of(x).T @ vectors_of(grad_z),
        b_1=None if weights.b_1 is None else vectors_of(grad_z).sum(axis=0),
        w_2=vectors_of(hidden).T @ vectors_of(grad_output),
        b_2=None if weights.b_2 is None else vectors_of(grad_output).sum(axis=0),
    )


def gated_feed_forward_backward(x, weights, grad_output, *, activation):
    gate, up = x @ weights.w_gate, x @ weights.w_up
    active, slope = FUNCTIONS[activation](gate)
    grad_hidden = grad_output @ weights.w_down.T
    grad_gate = grad_hidden * up * slope
    grad_up = grad_hidden * active
    grad_x = grad_gate @ weights.w_gate.T + grad_up @ weights.w_up.T
    hidden = active * up
    return grad_x, {
        "w_gate": vectors_of(x).T @ vectors_of(grad_gate),
        "w_up": vectors_of(x).T @ vectors_of(grad_up),
        "w_down": vectors_of(hidden).T @ vectors_of(grad_output),
    }
