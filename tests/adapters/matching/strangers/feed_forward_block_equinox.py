import equinox as eqx
import jax
import jax.numpy as jnp


class RMSNorm(eqx.Module):
    """Root mean square norm over the features of every token; x is (seq, dim)."""

    weight: jax.Array
    eps: float = eqx.field(static=True)

    def __init__(self, dim, eps=1e-6):
        self.weight = jnp.ones(dim)
        self.eps = eps

    def __call__(self, x):
        rms = jnp.sqrt(jnp.mean(x ** 2) + self.eps)
        return x / rms * self.weight


class GatedMLP(eqx.Module):
    gate: eqx.nn.Linear
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, dim, hidden, *, key):
        k1, k2, k3 = jax.random.split(key, 3)
        self.gate = eqx.nn.Linear(dim, hidden, use_bias=False, key=k1)
        self.up = eqx.nn.Linear(dim, hidden, use_bias=False, key=k2)
        self.down = eqx.nn.Linear(hidden, dim, use_bias=False, key=k3)

    def __call__(self, x):
        # a single token (dim,)
        return self.down(jax.nn.silu(self.gate(x)) * self.up(x))


class FeedForwardBlock(eqx.Module):
    """x + mlp(norm(x)) for an unbatched sequence (seq, dim)."""

    norm: RMSNorm
    mlp: GatedMLP

    def __init__(self, dim, hidden, *, key):
        self.norm = RMSNorm(dim)
        self.mlp = GatedMLP(dim, hidden, key=key)

    def __call__(self, x):
        return x + jax.vmap(self.mlp)(self.norm(x))
