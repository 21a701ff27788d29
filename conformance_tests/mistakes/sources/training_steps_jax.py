"""A correct training loop in JAX and Optax, of a GPT-2 or a LLaMA; the tests change one line at a time."""

import jax
import optax
from jax import numpy as jnp

framework = "jax"
dtypes = ("float32",)
architectures = {"language_model": ("gpt",)}
conventions = {"gelu_form": "tanh"}


def training_steps(tokens, weights, config, *, learning_rates, beta1, beta2, eps, weight_decay, ignore_index=None):
    adam = optax.adamw

    def step_of(now, state, batch, rate):
        optimizer = adam(rate, beta1, beta2, eps=eps, weight_decay=weight_decay)
        loss, gradients = jax.value_and_grad(loss_of)(now, batch, config, ignore_index)
        updates, state = optimizer.update(gradients, state, now)
        return optax.apply_updates(now, updates), state, loss

    now = jax.tree.map(jnp.asarray, tree_of(weights))
    state = adam(learning_rates[0], beta1, beta2, eps=eps, weight_decay=weight_decay).init(now)
    losses = []
    for number, batch in enumerate(tokens):
        now, state, loss = step_of(now, state, batch, learning_rates[number])
        losses.append(loss)
    return jnp.stack(losses), now


def tree_of(value):
    if isinstance(value, list):
        return [tree_of(member) for member in value]
    if value is None or isinstance(value, jax.Array):
        return value
    return {name: tree_of(member) for name, member in vars(value).items()}


def loss_of(weights, tokens, config, ignore_index):
    scores = jax.nn.log_softmax(logits_of(tokens[:, :-1], weights, config), axis=-1)
    targets = tokens[:, 1:]
    chosen = jnp.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]
    kept = jnp.ones_like(targets, dtype=bool) if ignore_index is None else targets != ignore_index
    count = kept.sum()
    return -jnp.where(kept, chosen, 0.0).sum() / count


def logits_of(tokens, weights, config):
    x = weights["embedding"][tokens] + weights["positions"][: tokens.shape[1]]
    for layer in weights["layers"]:
        x = x + attention(norm(x, layer["norm_1"], config), layer["self_attention"], config)
        x = x + network(norm(x, layer["norm_2"], config), layer["feed_forward"])
    return norm(x, weights["final_norm"], config) @ weights["embedding"].T


def norm(x, weights, config):
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + config.eps)
    return weights["gamma"] * centred * scale + weights["beta"]


def linear(x, weights, name):
    projected = x @ weights[f"w_{name}"]
    return projected if weights[f"b_{name}"] is None else projected + weights[f"b_{name}"]


def attention(x, weights, config):
    batch, length, _ = x.shape
    query, key, value = (linear(x, weights, name).reshape(batch, length, config.num_heads, -1) for name in "qkv")
    scores = jnp.einsum("bihd,bjhd->bhij", query, key) / query.shape[-1] ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), dtype=bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores, axis=-1), value)
    return linear(mixed.reshape(batch, length, -1), weights, "o")


def network(x, weights):
    return linear(jax.nn.gelu(linear(x, weights, "1")), weights, "2")
