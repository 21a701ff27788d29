"""The gradient of rotary embeddings of interleaved pairs, by hand in NumPy; the tests change one line at a time."""

import numpy as np

framework = "numpy"
conventions = {"rotary_pairing": "interleaved"}


def rotary_embedding_backward(x, positions, grad_output, *, base=10000.0, rotary_dim=None):
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    frequencies = base ** (-np.arange(0, width, 2) / width)
    angles = np.atleast_2d(positions)[:, None, :, None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    result = grad_output.copy()
    first, second = grad_output[..., 0:width:2], grad_output[..., 1:width:2]
    result[..., 0:width:2] = first * cos + second * sin
    result[..., 1:width:2] = second * cos - first * sin
    return result
