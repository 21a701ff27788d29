"""Encoder and decoder layers in JAX, written out."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp

framework = "jax"
conventions = {"gelu_form": "tanh"}

ACTIVATIONS = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "silu": jax.nn.silu}


def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    return compiled_encoder_layer(
        x, as_tree(weights), eps, padding_mask, num_heads=num_heads, norm_first=norm_first, activation=activation
    )


def decoder_layer(
    x, memory, weights, *, num_heads, norm_first, activation, eps, padding_mask=None, memory_padding_mask=None
):
    settings = {"num_heads": num_heads, "norm_first": norm_first, "activation": activation}
    return compiled_decoder_layer(x, memory, as_tree(weights), eps, padding_mask, memory_padding_mask, **settings)


def as_tree(weights):
    """Weights as nested dictionaries, which jax.jit takes as arguments."""
    return {k: as_tree(v) if isinstance(v, SimpleNamespace) else v for k, v in vars(weights).items()}


@partial(jax.jit, static_argnames=("num_heads", "norm_first", "activation"))
def compiled_encoder_layer(x, weights, eps, padding_mask, *, num_heads, norm_first, activation):
    visible = None if padding_mask is None else padding_mask[:, None, None, :]

    def attend(y):
        return multi_head(y, y, weights["self_attention"], num_heads, visible)

    def transform(y):
        return network(y, weights["feed_forward"], activation)

    x = residual(x, weights["norm_1"], attend, norm_first, eps)
    return residual(x, weights["norm_2"], transform, norm_first, eps)


@partial(jax.jit, static_argnames=("num_heads", "norm_first", "activation"))
def compiled_decoder_layer(
    x, memory, weights, eps, padding_mask, memory_padding_mask, *, num_heads, norm_first, activation
):
    visible = jnp.tri(x.shape[1], dtype=bool)[None, None]
    if padding_mask is not None:
        visible = visible & padding_mask[:, None, None, :]
    memory_visible = None if memory_padding_mask is None else memory_padding_mask[:, None, None, :]

    def attend(y):
        return multi_head(y, y, weights["self_attention"], num_heads, visible)

    def look_up(y):
        return multi_head(y, memory, weights["cross_attention"], num_heads, memory_visible)

    def transform(y):
        return network(y, weights["feed_forward"], activation)

    x = residual(x, weights["norm_1"], attend, norm_first, eps)
    x = residual(x, weights["norm_2"], look_up, norm_first, eps)
    return residual(x, weights["norm_3"], transform, norm_first, eps)


def residual(x, norm, sublayer, norm_first, eps):
    if norm_first:
        return x + sublayer(layer_norm(x, norm["gamma"], norm["beta"], eps=eps))
    return layer_norm(x + sublayer(x), norm["gamma"], norm["beta"], eps=eps)


def layer_norm(x, gamma, beta, *, eps):
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + eps) * gamma + beta


def multi_head(x, context, weights, num_heads, visible):
    query = split(linear(x, weights["w_q"], weights["b_q"]), num_heads)
    key = split(linear(context, weights["w_k"], weights["b_k"]), num_heads)
    value = split(linear(context, weights["w_v"], weights["b_v"]), num_heads)
    logits = jnp.einsum("bhld,bhsd->bhls", query, key) / query.shape[-1] ** 0.5
    if visible is not None:
        # Finite, so that a padded query that sees nothing is no NaN; what it gets is never read.
        logits = jnp.where(visible, logits, jnp.finfo(logits.dtype).min)
    heads = jnp.einsum("bhls,bhsd->blhd", jax.nn.softmax(logits, axis=-1), value)
    return linear(heads.reshape(x.shape), weights["w_o"], weights["b_o"])


def split(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


def network(x, weights, activation):
    hidden = ACTIVATIONS[activation](linear(x, weights["w_1"], weights["b_1"]))
    return linear(hidden, weights["w_2"], weights["b_2"])


def linear(x, weight, bias):
    return x @ weight if bias is None else x @ weight + bias
