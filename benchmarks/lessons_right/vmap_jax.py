"""In JAX, for one sample or one vector, then mapped over the others."""

import jax
import jax.numpy as jnp

framework = "jax"


def causal_mask(query_length, key_length):
    return jnp.tri(query_length, key_length, dtype=bool)


def padding_mask(lengths, max_length):
    return jax.vmap(lambda length: jnp.arange(max_length) < length)(lengths)


def single_head_attention(x, weights, *, mask=None):
    size = (len(x), x.shape[1], x.shape[1])
    seen = jnp.broadcast_to(True if mask is None else mask, size)

    def one(tokens, visible):
        query, key, value = (tokens @ weight for weight in (weights.w_q, weights.w_k, weights.w_v))
        logits = jnp.where(visible, query @ key.T / jnp.sqrt(query.shape[-1]), -jnp.inf)
        shares = jax.nn.softmax(logits, axis=-1, where=visible)
        return jnp.where(visible.any(-1, keepdims=True), shares, 0) @ value

    return jax.vmap(one)(x, seen)


def sinusoidal_positions(length, d_model):
    angles = jnp.arange(length)[:, None] / 10000.0 ** (jnp.arange(0, d_model, 2) / d_model)
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(length, d_model)


def next_token_loss(logits, tokens, *, ignore_index=-100):
    def of_one(numbers, following):
        loss = jax.nn.logsumexp(numbers) - numbers[jnp.where(following == ignore_index, 0, following)]
        return jnp.where(following == ignore_index, 0.0, loss), following != ignore_index

    losses, real = jax.vmap(jax.vmap(of_one))(logits[:, :-1], tokens[:, 1:])
    return losses.sum() / real.sum().astype(logits.dtype)


def clip_by_global_norm(gradients, *, max_norm):
    norm = jnp.sqrt(sum(jnp.vdot(gradient, gradient) for gradient in gradients))
    return jax.tree.map(lambda gradient: jnp.where(norm > max_norm, gradient * (max_norm / norm), gradient), gradients)


def adamw_step(
    parameter, gradient, first_moment, second_moment, *, step, learning_rate, beta1, beta2, eps, weight_decay
):
    def of_one(old, slope, m, v):
        m, v = beta1 * m + (1 - beta1) * slope, beta2 * v + (1 - beta2) * slope**2
        update = m / (1 - beta1**step) / (jnp.sqrt(v / (1 - beta2**step)) + eps)
        return old - learning_rate * (update + weight_decay * old), m, v

    return jnp.vectorize(of_one)(parameter, gradient, first_moment, second_moment)
