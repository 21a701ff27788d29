"""The backward pass of attention, written by hand in JAX from the output and the log-sum-exp of the forward pass."""

from functools import partial

import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float32", "bfloat16")


def forward(query, key, value, visible, scale):
    logits = jnp.where(visible, scale * (query @ key.swapaxes(-1, -2)), -jnp.inf)
    highest = jnp.max(logits, axis=-1, keepdims=True)
    shift = jnp.where(jnp.isfinite(highest), highest, 0.0)
    total = jnp.sum(jnp.exp(logits - shift), axis=-1, keepdims=True)
    # A row without a visible key gets the output zero.
    log_sum_exp = jnp.where(total > 0, shift + jnp.log(jnp.where(total > 0, total, 1.0)), jnp.inf)
    return jnp.exp(logits - log_sum_exp) @ value, logits, log_sum_exp


@partial(jax.jit, static_argnames=("is_causal",))
def scaled_dot_product_attention_backward(query, key, value, grad_output, *, mask=None, is_causal=False, scale=None):
    dtype = query.dtype
    query, key, value, grad_output = (array.astype(jnp.float32) for array in (query, key, value, grad_output))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    visible = jnp.ones((query.shape[-2], key.shape[-2]), dtype=bool)
    if is_causal:
        visible = jnp.tril(visible)
    if mask is not None:
        visible = visible & mask
    output, logits, log_sum_exp = forward(query, key, value, visible, scale)
    weights = jnp.exp(logits - log_sum_exp)
    grad_weights = grad_output @ value.swapaxes(-1, -2)
    # Σ_j P dP = dO · O: the sum over keys is not needed.
    average = jnp.sum(grad_output * output, axis=-1, keepdims=True)
    grad_logits = weights * (grad_weights - average)
    grad_query = scale * (grad_logits @ key)
    grad_key = scale * (grad_logits.swapaxes(-1, -2) @ query)
    grad_value = weights.swapaxes(-1, -2) @ grad_output
    return tuple(gradient.astype(dtype) for gradient in (grad_query, grad_key, grad_value))
