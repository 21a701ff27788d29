"""What Optax has for training, as operations on JAX arrays, compiled.

Optax is imported at the first call, so that what needs no optimizer does not wait for it.

Source: optax.adamw, optax.clip_by_global_norm and optax.warmup_cosine_decay_schedule, in Optax's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import numpy as jnp

Array = Any


def _adamw_step(
    parameter: Array,
    gradient: Array,
    first_moment: Array,
    second_moment: Array,
    *,
    step: int,
    learning_rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> tuple[Array, Array, Array]:
    """Take one step of optax.adamw whose state is that of the step before."""
    import optax

    optimizer = optax.adamw(learning_rate, beta1, beta2, eps, weight_decay=weight_decay)
    adam, *others = optimizer.init(parameter)
    adam = adam._replace(count=jnp.asarray(step - 1, dtype=jnp.int32), mu=first_moment, nu=second_moment)
    update, (adam, *_) = optimizer.update(gradient, (adam, *others), parameter)
    return optax.apply_updates(parameter, update), adam.mu, adam.nu


adamw_step: Callable[..., Any] = jax.jit(_adamw_step)


def _clip_by_global_norm(gradients: list[Array], *, max_norm: float) -> list[Array]:
    """Clip with optax.clip_by_global_norm, which has no state."""
    import optax

    clipping = optax.clip_by_global_norm(max_norm)
    clipped: list[Array]
    clipped, _ = clipping.update(gradients, clipping.init(gradients))
    return clipped


clip_by_global_norm: Callable[..., Any] = jax.jit(_clip_by_global_norm)


def warmup_cosine_learning_rate(step: int, *, peak: float, least: float, warmup_steps: int, total_steps: int) -> Array:
    """Return the rate of optax.warmup_cosine_decay_schedule, which counts the warm-up among its steps of decay."""
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, peak, warmup_steps, total_steps, least)
    return schedule(step)
