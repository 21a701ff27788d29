# %% [markdown]
# # Lecture 7: the pieces of a Transformer
# Everything is a pure function of its parameters.

# %%
import jax
import jax.numpy as jnp
from jax import nn, random

# %% [markdown]
# ## Building blocks

# %%
def init_linear(key, n_in, n_out):
    return {"W": random.normal(key, (n_in, n_out)) / jnp.sqrt(n_in), "b": jnp.zeros(n_out)}


def linear(params, x):
    return x @ params["W"] + params["b"]


def layer_norm(x, scale, offset, eps=1e-5):
    """Normalize every token on its own (last axis)."""
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return scale * (x - mean) / jnp.sqrt(var + eps) + offset


def gelu(x):
    """The tanh approximation, as in GPT-2."""
    return 0.5 * x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3)))


# %% [markdown]
# ## Attention for one head; `vmap` does the rest

# %%
def single_head(q, k, v, causal):
    """q (T, D), k (S, D), v (S, D). causal: query t sees the keys 0..t."""
    logits = q @ k.T / jnp.sqrt(q.shape[-1])
    if causal:
        logits = jnp.where(jnp.tril(jnp.ones(logits.shape, dtype=bool)), logits, -jnp.inf)
    return nn.softmax(logits, axis=-1) @ v


def attention(q, k, v, causal=False):
    """(B, H, T, D)"""
    head = lambda q, k, v: single_head(q, k, v, causal)
    return jax.vmap(jax.vmap(head))(q, k, v)


# %% [markdown]
# ## The loss

# %%
def cross_entropy(logits, targets):
    """Mean over all tokens. logits (B, T, V), targets (B, T)."""
    logp = nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(logp, targets[..., None], axis=-1).mean()
