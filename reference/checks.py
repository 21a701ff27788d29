"""Checks of arguments: every error says what is wrong, what was received and what to do."""

from __future__ import annotations

from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float64, Int

Sizes = dict[str, int]


def as_float64(name: str, numbers: Any) -> Float64[Array, "*shape"]:
    """Return `numbers` in double precision; ValueError when they are not real numbers."""
    array = np.asarray(numbers)
    if array.dtype.char == "d":
        return array
    if array.dtype.kind in "cOSUmM":
        raise ValueError(f"{name} must hold real numbers; got dtype {array.dtype}; convert it to a float dtype")
    return array.astype(np.float64, copy=False)


def as_axes(name: str, numbers: Any, axes: str, sizes: Sizes) -> Float64[Array, "*shape"]:
    """Return `numbers` in double precision, its shape checked against named axes.

    `sizes` holds the length of every axis named so far, and gets those named here for the first time.
    Raises ValueError when the rank is wrong or an axis differs from what `sizes` says.
    """
    array = numbers if type(numbers) is np.ndarray and numbers.dtype.char == "d" else as_float64(name, numbers)
    names, shape = _split(axes), array.shape
    if len(shape) != len(names):
        raise ValueError(
            f"{name} must have {len(names)} axes ({', '.join(names)}); got shape {array.shape} with {array.ndim}; "
            "reshape it"
        )
    # They are as many; to let `zip` see to it again would take as long as the rest.
    for axis, length in zip(names, shape):  # noqa: B905
        if sizes.setdefault(axis, length) != length:
            raise ValueError(
                f"{name} must have shape ({', '.join(names)}) with {axis} = {sizes[axis]} as in the other arguments; "
                f"got shape {array.shape} with {axis} = {length}; pass arrays that agree in {axis}"
            )
    return array


@cache
def _split(axes: str) -> tuple[str, ...]:
    return tuple(axes.split())


def as_grad_output(grad_output: Any, shape: tuple[int, ...]) -> Float64[Array, "*shape"]:
    """Return the gradient of a result in double precision; ValueError when it has not the shape of the result."""
    array = as_float64("grad_output", grad_output)
    if array.shape != shape:
        raise ValueError(
            f"grad_output must have the shape {shape} of the result; got shape {array.shape}; pass one number for each "
            "number of the result"
        )
    return array


def require_choice(name: str, value: object, choices: Any) -> None:
    """Raise ValueError unless `value` is one of the values of the Literal type `choices`."""
    # What `get_args` returns, which looks at much else first.
    valid = choices.__args__
    if value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}; got {value!r}; pass one of these")


def require_count(name: str, value: Any, minimum: int) -> None:
    """Raise ValueError unless `value` is an integer that is at least `minimum`."""
    # Most are plain integers, of which the type says it sooner than the abstract class.
    is_integer = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not is_integer or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}; got {value!r}; pass a count")


def require_multiple(name: str, value: int, divisor_name: str, divisor: int) -> None:
    """Raise ValueError unless `value` is a multiple of `divisor`."""
    if divisor < 1 or value % divisor:
        raise ValueError(
            f"{name} must be a multiple of {divisor_name}; got {name} = {value} and {divisor_name} = {divisor}; "
            f"choose a {divisor_name} that divides it"
        )


def as_mask(mask: Any, shape: tuple[int, ...]) -> Bool[Array, "*shape"]:
    """Return `mask` as an array that broadcasts to `shape`; ValueError when it is not boolean or does not fit."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise ValueError(
            f"mask must be boolean, True where the query may attend; got dtype {array.dtype}; "
            "pass `mask != 0` for a mask of ones and zeros, or an additive mask as bias"
        )
    _require_broadcastable("mask", array, shape)
    return array


def as_bias(bias: Any, shape: tuple[int, ...]) -> Float64[Array, "*shape"]:
    """Return `bias` in double precision, broadcasting to `shape`; ValueError when it is boolean or does not fit."""
    if np.asarray(bias).dtype == np.bool_:
        raise ValueError("bias must hold numbers to add to the logits; got dtype bool; pass a boolean array as mask")
    array = as_float64("bias", bias)
    _require_broadcastable("bias", array, shape)
    return array


def _require_broadcastable(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.ndim not in (2, 4):
        raise ValueError(
            f"{name} must be (L, S) or have rank 4, broadcastable to (B, H, L, S) = {shape}; got shape {array.shape}; "
            "libraries disagree about what other ranks mean: insert the missing axes with length 1, "
            f"as in {name}[:, None] for one {name} per sample"
        )
    expected = shape[-array.ndim :]
    if any(length not in (1, wanted) for length, wanted in zip(array.shape, expected, strict=True)):
        raise ValueError(
            f"{name} must be broadcastable to {expected}; got shape {array.shape}; "
            "give every axis the length expected there, or 1"
        )


def as_integers(name: str, numbers: Any) -> Int[Array, "*shape"]:
    """Return `numbers` as an array of integers; ValueError when they are of another kind."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers; got dtype {array.dtype}; convert it to an integer dtype")
    return array.astype(np.int64, copy=False)


def as_tokens(name: str, tokens: Any, axes: str = "B L") -> Int[Array, "*shape"]:
    """Return `tokens` as an array of integers with these axes; ValueError when they are of another kind or shape."""
    shape = f"({', '.join(axes.split())})"
    try:
        array = np.asarray(tokens)
    except ValueError as error:
        raise ValueError(
            f"{name} must be integers of shape {shape}; got rows of unequal lengths; pad them to one length, and pass "
            "padding_mask where the operation takes one"
        ) from error
    if array.dtype.kind not in "iu" or array.ndim != len(axes.split()):
        raise ValueError(
            f"{name} must be integers of shape {shape}; got {array.dtype} of shape {array.shape}; "
            "pass the numbers of the tokens, one row for each sequence"
        )
    return array


def as_positions(positions: Any, shape: tuple[int, ...]) -> Int[Array, "*B T"]:
    """Return the positions of tokens of a shape (B, T), as (T,) or (B, T); ValueError when they do not fit."""
    array = as_integers("positions", positions)
    if array.shape not in (shape, shape[1:]):
        raise ValueError(
            f"positions must have shape (T,) or (B, T) = {shape}; got {array.shape}; "
            "pass one for each token of the call"
        )
    if np.any(array < 0):
        raise ValueError(f"positions must not be negative; got {int(array.min())}; count them from 0")
    return array
