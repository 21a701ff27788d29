"""jax.nn.dot_product_attention of float64 arrays computes its softmax in float32 and returns float64."""

import jax
import numpy as np

with jax.enable_x64(True):
    query, key, value = np.random.default_rng(0).standard_normal((3, 1, 8, 2, 4))
    weights = np.exp(np.einsum("btnh,bsnh->bnts", query, key) / 2)
    exact = np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), value)
    result = jax.nn.dot_product_attention(query, key, value)
error = np.abs(np.asarray(result) - exact).max()
print(f"dtype {result.dtype}, largest error {error:.1e} where rounding in float64 explains 1e-15")
assert result.dtype == "float64"
assert error > 1e-9
