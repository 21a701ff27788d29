"""Keras on its JAX backend as an implementation, compiled: see `veriformer.adapters.keras_layers`.

On JAX, because on PyTorch attention and the norms are PyTorch's own kernels, which `torch` checks; the variant
keras-torch has that backend. A process has one of the two.
"""

from __future__ import annotations

from veriformer.adapters.keras_backend import require_backend

require_backend("jax")

from veriformer.adapters import keras_layers  # noqa: E402  (only where the backend is the right one)
from veriformer.adapters.jax_transforms import compiled  # noqa: E402

framework = "jax"
# Compiled for the CPU, the attention of jax.nn refuses float16.
dtypes = ("float32", "bfloat16")
conventions = keras_layers.CONVENTIONS
limitations = keras_layers.LIMITATIONS

softmax = compiled(keras_layers.softmax)
scaled_dot_product_attention = compiled(keras_layers.scaled_dot_product_attention)
# Keras tells from the shapes that several query heads share a key/value head.
grouped_query_attention = scaled_dot_product_attention
multi_head_attention = compiled(keras_layers.multi_head_attention)
layer_norm = compiled(keras_layers.layer_norm)
rms_norm = compiled(keras_layers.rms_norm)
token_embedding = compiled(keras_layers.token_embedding)
cross_entropy = compiled(keras_layers.cross_entropy)
gelu = compiled(keras_layers.gelu)
silu = compiled(keras_layers.silu)
# Not compiled: the seed is kept in a variable of the layer, which compiled code cannot change.
dropout = keras_layers.dropout
