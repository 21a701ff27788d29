"""The loss of Keras that smooths labels, CategoricalCrossentropy: it takes the targets one-hot and ignores none."""

from __future__ import annotations

from veriformer.adapters import keras, keras_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = keras.dtypes
conventions = keras.conventions

# Keras asks whether it is zero.
cross_entropy = compiled(keras_layers.smoothed_cross_entropy, static=("label_smoothing",))
