"""The functions of keras.activations instead of keras.ops: their gelu is the exact one unless told otherwise."""

from __future__ import annotations

from typing import Any

from veriformer.adapters import keras
from veriformer.adapters.jax_transforms import compiled

from keras import activations  # isort: skip  (only where the backend is the right one)

Array = Any

framework = "jax"
dtypes = keras.dtypes
conventions = keras.conventions | {"gelu_form": "erf"}


@compiled
def softmax(x: Array) -> Array:
    """Turn each row of logits into a probability distribution."""
    return activations.softmax(x)


@compiled
def gelu(x: Array) -> Array:
    """Weigh each entry by the normal distribution function: the default form of keras.activations."""
    return activations.gelu(x)


@compiled
def silu(x: Array) -> Array:
    """Weigh each entry by its own logistic function."""
    return activations.silu(x)
