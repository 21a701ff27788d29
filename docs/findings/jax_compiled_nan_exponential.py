"""Compiled for the CPU, softmax over one key that is masked returns what the memory held before, not NaN."""

import jax
import jax.numpy as jnp

logits, mask = jnp.ones((1000, 1)), jnp.array(False)
for compiled in (False, True):
    with jax.disable_jit(not compiled):
        weights = jax.jit(lambda x, seen: jax.nn.softmax(jnp.where(seen, x, -jnp.inf)))(logits, mask)
    print(f"{'compiled' if compiled else 'step by step'}: {jnp.isnan(weights).sum()} of 1000 weights are NaN")
    assert jnp.isnan(weights).all() != compiled
