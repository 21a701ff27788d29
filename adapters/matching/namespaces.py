"""The few array functions that a change of layout needs, by the framework of the arrays.

They are the framework's own, so that a function between them can be differentiated. Where JAX differentiates nothing,
what only moves entries is left to NumPy: JAX would compile each move anew for every shape, which takes some 40 ms.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_MODULES = {
    "numpy": "numpy",
    "cupy": "cupy",
    "torch": "torch",
    "jax": "jax.numpy",
    "jaxlib": "jax.numpy",
    "tensorflow": "tensorflow",
    "mlx": "mlx.core",
    "tinygrad": "tinygrad",
}
Shape = tuple[int, ...]


def _root(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _module(array: Any) -> Any:
    return sys.modules[_MODULES.get(_root(array), "numpy")]


def is_of_jax(array: Any) -> bool:
    """Return whether an array is one of JAX, be it traced or not."""
    return _root(array) in ("jax", "jaxlib")


def has_values(array: Any) -> bool:
    """Return whether an array is one of JAX that is not being traced."""
    return _root(array) == "jaxlib"


def _moved(arrays: Sequence[Any], move: Callable[..., np.ndarray]) -> Any:
    """Return what NumPy makes of JAX's arrays, in memory of its own, as an array on the device of the first."""
    first = arrays[0]
    moved = np.array(move(*map(np.asarray, arrays)), order="C", copy=True)
    # What was put nowhere in particular must stay so: JAX compiles for the one and the other.
    return sys.modules["jax"].device_put(moved, first.sharding if first.committed else None)


def shape_of(array: Any) -> Shape:
    """Return the shape of an array, () for a number."""
    return tuple(int(length) for length in getattr(array, "shape", ()))


def transposed(array: Any, axes: Sequence[int]) -> Any:
    """Return an array with its axes in another order."""
    if has_values(array):
        return _moved([array], lambda values: values.transpose(axes))
    if _root(array) in ("torch", "tinygrad"):
        return array.permute(*axes)
    return _module(array).transpose(array, tuple(axes))


def reshaped(array: Any, shape: Sequence[int]) -> Any:
    """Return an array with another shape."""
    if has_values(array):
        return _moved([array], lambda values: values.reshape(shape))
    if _root(array) in ("torch", "tinygrad"):
        return array.reshape(*shape) if shape else array.reshape(())
    return _module(array).reshape(array, tuple(shape))


def stacked(arrays: Sequence[Any]) -> Any:
    """Return arrays of one shape along a new first axis."""
    first, *others = arrays
    if all(map(has_values, arrays)) and len({one.dtype for one in arrays}) == 1:
        return _moved(arrays, lambda *values: np.stack(values))
    if _root(first) == "tinygrad":
        return first.stack(*others)
    return _module(first).stack(list(arrays))


def of_each(function: Callable[..., Any], *arrays: Any) -> Any:
    """Return what a function gives for each part of arrays along their first axis, stacked along a new first one.

    Op by op, JAX takes longer for each part than for all at once, and longer yet to go back through all of them.
    """
    if is_of_jax(arrays[0]) and shape_of(arrays[0])[0] > 1:
        # What decides by values, or leaves JAX, cannot be called for all at once.
        with contextlib.suppress(Exception):
            return sys.modules["jax"].vmap(function)(*arrays)
    parts = range(shape_of(arrays[0])[0])
    return stacked([function(*(part_of(array, number) for array in arrays)) for number in parts])


def part_of(array: Any, place: Any) -> Any:
    """Return what is at a place of an array: an index, a slice, or a tuple of them."""
    return _moved([array], lambda values: values[place]) if has_values(array) else array[place]


def joined(arrays: Sequence[Any], axis: int) -> Any:
    """Return arrays one after the other along an axis."""
    first, *others = arrays
    if _root(first) == "tinygrad":
        return first.cat(*others, dim=axis) if others else first
    module = _module(first)
    return module.concat(list(arrays), axis) if module.__name__ == "tensorflow" else module.concatenate(arrays, axis)


def parted(array: Any, size: int, axis: int) -> list[Any]:
    """Return an array in pieces of a size along an axis; the last may be smaller."""
    length = shape_of(array)[axis]
    if _root(array) in ("torch", "tinygrad"):
        return list(array.split(size, axis))
    module, places = _module(array), range(size, length, size)
    if module.__name__ == "tensorflow":
        return list(module.split(array, [min(size, length - at) for at in range(0, length, size)], axis))
    return list(module.split(array, list(places), axis=axis))


def zeros_like(array: Any, shape: Sequence[int]) -> Any:
    """Return zeros of another shape, of the framework and the dtype of an array."""
    if _root(array) == "tinygrad":
        return type(array).zeros(*shape, dtype=array.dtype)
    return _module(array).zeros(tuple(shape), dtype=array.dtype)


def chosen(condition: Any, yes: float, no: float, like: Any) -> Any:
    """Return numbers of the dtype of `like`: one where a truth value is True, the other where it is False."""
    if _root(condition) == "tinygrad":
        return condition.where(yes, no).cast(like.dtype)
    module = _module(condition)
    if module.__name__ == "tensorflow":
        return module.where(condition, module.constant(yes, like.dtype), module.constant(no, like.dtype))
    if module.__name__ == "torch":
        return module.where(condition, yes, no).to(like.dtype)
    return module.where(condition, yes, no).astype(like.dtype)


def broadcast(array: Any, shape: Sequence[int]) -> Any:
    """Return an array repeated along its axes of size 1, and along new first ones, until it has a shape."""
    given = shape_of(array)
    whole = (*[1] * (len(shape) - len(given)), *given)
    array = reshaped(array, whole)
    if _root(array) in ("torch", "tinygrad"):
        return array.expand(*shape)
    return _module(array).broadcast_to(array, tuple(shape))


def rolled(array: Any, axis: int) -> Any:
    """Return an array whose last entry along an axis, the first or the last, comes first; as it is where it cannot."""
    if _root(array) in ("tensorflow", "mlx", "tinygrad"):
        return array
    length = shape_of(array)[axis]
    order = [(place - 1) % length for place in range(length)]
    order = order if _root(array) == "torch" else _module(array).asarray(order, dtype=int)
    return array[order] if axis == 0 else array[..., order]


def log_softmax(array: Any) -> Any:
    """Return the logarithm of the softmax along the last axis."""
    root = _root(array)
    if root == "torch":
        return array.log_softmax(-1)
    if root == "tinygrad":
        return array.log_softmax(axis=-1)
    if root in ("tensorflow", "jax", "jaxlib"):
        return sys.modules["tensorflow" if root == "tensorflow" else "jax"].nn.log_softmax(array)
    module = _module(array)
    shifted = array - module.max(array, axis=-1, keepdims=True)
    return shifted - module.log(module.sum(module.exp(shifted), axis=-1, keepdims=True))


def smallest(array: Any) -> Any:
    """Return the smallest entry along the last axis, which keeps its place."""
    root = _root(array)
    if root == "torch":
        return array.amin(-1, keepdim=True).detach()
    if root == "tinygrad":
        return array.min(axis=-1, keepdim=True).detach()
    if root == "tensorflow":
        return _module(array).stop_gradient(_module(array).reduce_min(array, axis=-1, keepdims=True))
    least = _module(array).min(array, axis=-1, keepdims=True)
    return sys.modules["jax"].lax.stop_gradient(least) if root in ("jax", "jaxlib") else least


def picked(array: Any, places: Any) -> Any:
    """Return the entries of the last axis at places, one for each of the axes before it."""
    root, module = _root(array), _module(array)
    if root == "tensorflow":
        return module.gather(array, places, batch_dims=len(shape_of(places)))
    if root in ("torch", "tinygrad"):
        return array.gather(-1, places[..., None])[..., 0]
    return module.take_along_axis(array, places[..., None], -1)[..., 0]


def mean_of(array: Any) -> Any:
    """Return the mean of all entries."""
    return _module(array).reduce_mean(array) if _root(array) == "tensorflow" else array.mean()


def rows_at(array: Any, places: Any) -> Any:
    """Return the rows of an array of two axes at places, an array of integers."""
    return _module(array).gather(array, places) if _root(array) == "tensorflow" else array[places]


def negated(condition: Any) -> Any:
    """Return the opposite truth values."""
    return condition == False  # noqa: E712  mlx and tinygrad have no other way in common


def size_of(shape: Sequence[int]) -> int:
    """Return the number of entries of a shape."""
    return math.prod(shape)
