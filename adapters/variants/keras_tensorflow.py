"""Keras on its TensorFlow backend, called with NumPy's arrays, which Keras takes on every backend.

Not declared, for reasons that are in docs/findings.md: what other precisions return, which NumPy's arrays do not hold
(bfloat16) or Keras computes in float32 (float64).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from veriformer.adapters.keras_backend import require_backend

require_backend("tensorflow")

from keras import ops  # noqa: E402
from veriformer.adapters import keras_layers  # noqa: E402  (only where the backend is the right one)

Array = Any


def _returning_numpy(operation: Callable[..., Array]) -> Callable[..., Array]:
    @wraps(operation)
    def called(*positional: Any, **keywords: Any) -> Array:
        return ops.convert_to_numpy(operation(*positional, **keywords))

    return called


framework = "numpy"
dtypes = ("float32",)
conventions = keras_layers.CONVENTIONS
limitations = keras_layers.LIMITATIONS

softmax = _returning_numpy(keras_layers.softmax)
scaled_dot_product_attention = _returning_numpy(keras_layers.scaled_dot_product_attention)
multi_head_attention = _returning_numpy(keras_layers.multi_head_attention)
layer_norm = _returning_numpy(keras_layers.layer_norm)
rms_norm = _returning_numpy(keras_layers.rms_norm)
token_embedding = _returning_numpy(keras_layers.token_embedding)
gelu = _returning_numpy(keras_layers.gelu)
silu = _returning_numpy(keras_layers.silu)
