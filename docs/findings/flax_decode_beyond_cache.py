"""nnx.MultiHeadAttention in decode mode accepts more tokens than its cache holds, and overwrites the last one."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

attention = nnx.MultiHeadAttention(1, 2, decode=True, rngs=nnx.Rngs(0))
attention.init_cache((1, 2, 2))
for token in range(3):
    attention(jnp.full((1, 1, 2), token + 1.0))
    print(f"after token {token}: cached key\n{np.asarray(attention.cached_key[...])[0, :, 0]}")
newest = np.asarray(attention.key(jnp.full((1, 1, 2), 3.0)))[0, 0]
assert int(attention.cache_index[...]) == 3
assert np.allclose(np.asarray(attention.cached_key[...])[0, 1], newest)
