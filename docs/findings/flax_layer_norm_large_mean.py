"""nnx.LayerNorm with its defaults loses a large mean: var = mean(x²) − (mean x)² cancels in float32."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

x = (np.random.default_rng(0).normal(size=(4, 64)) + 1e4).astype(np.float32)
centred = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
exact = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-5)
for one_pass in (True, False):
    norm = nnx.LayerNorm(64, epsilon=1e-5, use_fast_variance=one_pass, rngs=nnx.Rngs(0))
    error = np.abs(np.asarray(norm(jnp.array(x))) - exact).max()
    print(f"use_fast_variance={one_pass}: largest error {error:.2g}")
    assert (error > 1) == one_pass
