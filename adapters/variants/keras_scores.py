"""The attention layers of Keras asked for their weights: then products and masked softmax are their own."""

from __future__ import annotations

from veriformer.adapters import keras, keras_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = keras.dtypes
conventions = keras.conventions
# GroupQueryAttention has one width, also where the values' would be free.
limitations = ("value_width",)

multi_head_attention = compiled(keras_layers.multi_head_attention_with_scores)
