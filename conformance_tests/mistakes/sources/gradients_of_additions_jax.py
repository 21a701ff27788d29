"""Attention in JAX with a backward pass of its own, which returns the gradients of a bias and of sinks too."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"


def shares_of(query, key, bias, sinks, hidden, scale):
    """Return the weights of the keys, and that of the sink."""
    logits = jnp.where(hidden, -jnp.inf, scale * (query @ key.swapaxes(-1, -2)) + bias)
    sink = jnp.broadcast_to(sinks[:, None, None], (*logits.shape[:3], 1)).astype(logits.dtype)
    columns = jnp.concatenate([logits, sink], axis=-1)
    # Where no key is seen and there is no sink, softmax alone gives NaN.
    shares = jnp.where(columns == -jnp.inf, 0.0, jax.nn.softmax(columns, axis=-1))
    return shares[..., :-1], shares[..., -1:]


@partial(jax.custom_vjp, nondiff_argnums=(6,))
def attend(query, key, value, bias, sinks, hidden, scale):
    return shares_of(query, key, bias, sinks, hidden, scale)[0] @ value


def forward(query, key, value, bias, sinks, hidden, scale):
    weights, rest = shares_of(query, key, bias, sinks, hidden, scale)
    return weights @ value, (query, key, value, bias, weights, rest)


def backward(scale, kept, grad_output):
    query, key, value, bias, weights, rest = kept
    grad_value = weights.swapaxes(-1, -2) @ grad_output
    grad_weights = grad_output @ value.swapaxes(-1, -2)
    average = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_logits = weights * (grad_weights - average)
    lengths = (1,) * (4 - bias.ndim) + bias.shape
    shared = tuple(axis for axis, length in enumerate(lengths) if length == 1)
    grad_bias = grad_logits.sum(axis=shared, keepdims=True).reshape(bias.shape)
    grad_sinks = -(rest * average).sum(axis=(0, 2, 3))
    grad_query = scale * (grad_logits @ key)
    grad_key = scale * (grad_logits.swapaxes(-1, -2) @ query)
    return grad_query, grad_key, grad_value, grad_bias, grad_sinks, None


attend.defvjp(forward, backward)


@partial(jax.jit, static_argnames=("is_causal",))
def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, is_causal=False, sinks=None):
    hidden = jnp.zeros((query.shape[2], key.shape[2]), dtype=bool)
    if is_causal:
        hidden = jnp.arange(key.shape[2]) > jnp.arange(query.shape[2])[:, None]
    if mask is not None:
        hidden = hidden | ~mask
    bias = jnp.zeros((1, 1), query.dtype) if bias is None else bias
    sinks = jnp.full(query.shape[1], -jnp.inf, query.dtype) if sinks is None else sinks
    return attend(query, key, value, bias, sinks, hidden, query.shape[-1] ** -0.5)
