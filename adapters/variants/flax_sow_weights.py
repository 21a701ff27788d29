"""MultiHeadAttention of Flax NNX with sow_weights=True: Flax's own softmax instead of jax.nn's attention."""

from __future__ import annotations

from veriformer.adapters import flax, flax_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = flax.dtypes
conventions = flax.conventions
limitations = flax.limitations

multi_head_attention = compiled(flax_layers.multi_head_attention_sowing)
