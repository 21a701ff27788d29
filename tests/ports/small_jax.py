"""The port of the small GPT as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from small_numpy import port


def gpt_in_jax(**mistakes: Any) -> Callable[..., Any]:
    """Return the function; the module that it is from tells that it is one of JAX."""
    forward = port(jnp, **mistakes)

    def run(parameters: dict[str, Any], tokens: Any) -> Any:
        return forward(parameters, tokens)

    return run
