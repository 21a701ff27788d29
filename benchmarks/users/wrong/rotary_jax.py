"""A rotary embedding as people write it, not jitted; the second sine has the wrong sign."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def rotary_embedding(x: Any, positions: Any, theta: float = 10000.0) -> Any:
    """Turn each pair of features by its position."""
    # x: (L, H, D), neighbouring features form the pairs
    width = x.shape[-1]
    angles = positions[:, None, None] / theta ** (jnp.arange(0, width, 2) / width)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = jnp.stack([first * cos - second * sin, second * cos - first * sin], axis=-1)
    return turned.reshape(x.shape)
