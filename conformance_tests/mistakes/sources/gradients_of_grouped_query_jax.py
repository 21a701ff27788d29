"""Multi-query and grouped-query attention in JAX with a derivative of its own."""

import jax
import jax.numpy as jnp

framework = "jax"


def grouped(table, groups):
    """Return what query heads have as (B, G, H/G, ...)."""
    return table.reshape(table.shape[0], groups, -1, *table.shape[2:])


@jax.custom_vjp
def attention(query, key, value, scale):
    return attention_forward(query, key, value, scale)[0]


def attention_forward(query, key, value, scale):
    queries = grouped(query, key.shape[1])
    weights = jax.nn.softmax(scale * jnp.einsum("bgnld,bgsd->bgnls", queries, key), axis=-1)
    output = jnp.einsum("bgnls,bgse->bgnle", weights, value)
    return output.reshape(*query.shape[:3], -1), (query, key, value, scale, weights)


def attention_back(kept, grad_output):
    query, key, value, scale, weights = kept
    queries, grad_output = grouped(query, key.shape[1]), grouped(grad_output, key.shape[1])
    grad_value = jnp.einsum("bgnls,bgnle->bgse", weights, grad_output)
    grad_weights = jnp.einsum("bgnle,bgse->bgnls", grad_output, value)
    average = jnp.sum(weights * grad_weights, axis=-1, keepdims=True)
    grad_logits = weights * (grad_weights - average)
    grad_query = scale * jnp.einsum("bgnls,bgsd->bgnld", grad_logits, key).reshape(query.shape)
    grad_key = scale * jnp.einsum("bgnls,bgnld->bgsd", grad_logits, queries)
    return grad_query, grad_key, grad_value, None


attention.defvjp(attention_forward, attention_back)


def grouped_query_attention(query, key, value):
    return attention(query, key, value, query.shape[-1] ** -0.5)
