"""MLX computes exponentials, and its fused norms, of float64 no better than in float32, and returns float64."""

import mlx.core as mx
import numpy as np

x = np.linspace(-3.0, 3.0, 8)
given, ones = mx.array(x, dtype=mx.float64), mx.ones(8, dtype=mx.float64)
normalised = x / np.sqrt(np.mean(x**2) + 0.1)
for name, found, exact in [
    ("softmax", mx.softmax(given), np.exp(x) / np.exp(x).sum()),
    ("rms_norm", mx.fast.rms_norm(given, ones, 0.1), normalised),
    ("layer_norm", mx.fast.layer_norm(given, ones, None, 0.1), normalised),
]:
    print(name, found.dtype, wrong := np.abs(np.array(found) / exact - 1).max())
    assert found.dtype == mx.float64 and 1e-9 < wrong < 1e-6
