"""A lookup in JAX whose backward pass is by hand; the tests change one line at a time."""

from functools import partial

import jax

framework = "jax"
dtypes = ("float32", "bfloat16")


@jax.custom_vjp
def _look_up(tokens, table):
    return table[tokens]


def _forward(tokens, table):
    return table[tokens], (tokens, table)


def _backward(kept, grad_output):
    tokens, table = kept
    return None, jax.numpy.zeros_like(table).at[tokens].add(grad_output)


_look_up.defvjp(_forward, _backward)


@partial(jax.jit, static_argnames=("scale_by_sqrt_d_model",))
def token_embedding(tokens, table, *, scale_by_sqrt_d_model=False):
    rows = _look_up(tokens, table)
    return rows * table.shape[1] ** 0.5 if scale_by_sqrt_d_model else rows
