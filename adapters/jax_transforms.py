"""JAX's transformations of a whole operation, the weights' arrays included: compiled, and mapped over the batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import SimpleNamespace
from typing import Any

import jax

Operation = Callable[..., Any]


def compiled(operation: Operation, static: tuple[str, ...] = ()) -> Operation:
    """Return the operation under jax.jit: traced in arrays and floats, compiled anew for each other setting.

    `static` names floats that count as settings, for a library that reads them while it is traced.
    """

    @partial(jax.jit, static_argnames=("settings",))
    def traced(arrays: dict[str, Any], settings: tuple[tuple[str, Any], ...]) -> Any:
        return operation(**_as_arguments(arrays), **dict(settings))

    @wraps(operation)
    def call(*positional: Any, **keywords: Any) -> Any:
        arrays, settings = _apart(operation, positional, keywords)
        settings |= {name: arrays.pop(name) for name in static if name in arrays}
        return traced(arrays, settings=tuple(sorted(settings.items())))

    return call


def mapped(operation: Operation, batched: tuple[str, ...]) -> Operation:
    """Return the operation under jax.vmap: each sample of the arguments `batched` goes through it alone.

    A single vector is a sample itself, so nothing is mapped. A `mask` or `bias` of rank 4 with an entry for each sample
    is mapped too and reaches the operation with a first axis of size 1; one that all samples share reaches it as it is.
    """

    @wraps(operation)
    def call(*positional: Any, **keywords: Any) -> Any:
        arrays, settings = _apart(operation, positional, keywords)
        if min(arrays[name].ndim for name in batched) < 2:
            return operation(**_as_arguments(arrays), **settings)
        tables = {name for name in ("mask", "bias") if _has_samples(arrays.get(name))}
        arrays |= {name: arrays[name][:, None] for name in tables}
        axes = {name: 0 if name in tables or name in batched else None for name in arrays}
        return jax.vmap(lambda one: operation(**_as_arguments(one), **settings), in_axes=(axes,))(arrays)

    return call


def _apart(
    operation: Operation, positional: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments by name: what jax traces (weights as a dictionary), and the settings that it does not."""
    given = inspect.signature(operation).bind(*positional, **keywords).arguments
    arrays: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, SimpleNamespace):
            arrays[name] = dict(vars(value))
        elif isinstance(value, jax.Array | float):
            arrays[name] = value
        else:
            settings[name] = value
    return arrays, settings


def _as_arguments(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: SimpleNamespace(**value) if isinstance(value, dict) else value for name, value in arrays.items()}


def _has_samples(table: Any) -> bool:
    return table is not None and table.ndim == 4 and table.shape[0] > 1
