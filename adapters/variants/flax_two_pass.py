"""LayerNorm of Flax NNX with use_fast_variance=False: the mean is taken away before the squares are summed."""

from __future__ import annotations

from veriformer.adapters import flax, flax_layers
from veriformer.adapters.jax_transforms import compiled

framework = "jax"
dtypes = flax.dtypes
conventions = flax.conventions

layer_norm = compiled(flax_layers.layer_norm_in_two_passes)
