"""The layers of Flax NNX without compilation, operation by operation; float16 too, which compiled attention refuses."""

from __future__ import annotations

from veriformer.adapters import flax, flax_layers

framework = "jax"
dtypes = ("float32", "bfloat16", "float16")
conventions = flax.conventions
limitations = flax.limitations

scaled_dot_product_attention = flax_layers.scaled_dot_product_attention
grouped_query_attention = scaled_dot_product_attention
multi_head_attention = flax_layers.multi_head_attention
layer_norm = flax_layers.layer_norm
rms_norm = flax_layers.rms_norm
token_embedding = flax_layers.token_embedding
dropout = flax_layers.dropout
