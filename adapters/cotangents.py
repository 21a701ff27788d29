"""The results of a forward pass, and the gradients of the loss by them, one for each."""

from __future__ import annotations

from typing import Any

from veriformer.adapters.errors import NotDifferentiable


def results_of(returned: Any, cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the results of a forward pass: what it returned, or the parts of that where there are to be several."""
    return tuple(returned) if len(cotangents) > 1 and isinstance(returned, (tuple, list)) else (returned,)


def require_shapes(results: tuple[Any, ...], cotangents: tuple[Any, ...]) -> None:
    """Require as many results as cotangents, each an array of the same shape.

    Raises: NotDifferentiable where they differ.
    """
    received = [_shape(result) for result in results]
    expected = [_shape(cotangent) for cotangent in cotangents]
    if received != expected:
        gradient = "its gradient has" if len(expected) == 1 else "the gradients of its results have"
        raise NotDifferentiable(f"the forward pass returned {_listed(received)}, and {gradient} {_listed(expected)}")


def _shape(result: Any) -> str:
    return f"shape {tuple(result.shape)}" if hasattr(result, "shape") else f"a {type(result).__name__}"


def _listed(shapes: list[str]) -> str:
    return " and ".join(shapes)
