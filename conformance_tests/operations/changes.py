"""Changes of drawn inputs: another kind of values, another shape, an argument left out, two that are one array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.rarity import Change
from veriformer.conformance_tests.drawing.values import round_to_dtype, smallest_normal

InputsT = TypeVar("InputsT", bound=Inputs)
Kind = Callable[[Array, np.random.Generator], Array]


def changed(inputs: InputsT, changes: tuple[Change, ...], seed: int) -> InputsT:
    """Return inputs with some arguments changed; KeyError for an unknown kind of change."""
    generator = np.random.default_rng([seed, 3])
    for path, kind in changes:
        inputs = _replaced(inputs, path.split("."), _changed(inputs, path, kind, generator))
    return inputs


def _changed(inputs: Any, path: str, kind: str | float, generator: np.random.Generator) -> Any:
    if kind == "absent" or not isinstance(kind, str):
        return None if kind == "absent" else kind
    for word, made in (("same_as_", lambda array: array), ("equal_to_", np.copy)):
        if kind.startswith(word):
            return made(_found(inputs, kind.removeprefix(word)))
    array = _found(inputs, path)
    if kind == "all_ignored":
        return np.full_like(array, inputs.ignore_index)
    if kind == "none_ignored":
        return np.where(array == inputs.ignore_index, 0, array)
    if kind == "last":
        return _with_last(array, inputs)
    if kind not in _FLOATS:
        return _OTHERS[kind](array)
    # Of an array of one number NumPy makes a number.
    return np.asarray(round_to_dtype(np.asarray(_FLOATS[kind](array, generator)), inputs.dtype))


def _found(inputs: Any, path: str) -> Array:
    for member in path.split("."):
        inputs = inputs[int(member)] if isinstance(inputs, tuple) else getattr(inputs, member)
    return np.asarray(inputs)


def _replaced(whole: Any, path: list[str], value: Any) -> Any:
    if path == ["tokens"] and hasattr(whole, "with_tokens"):
        return whole.with_tokens(np.asarray(value))
    first, *rest = path
    if isinstance(whole, tuple):
        place = int(first)
        return (*whole[:place], value, *whole[place + 1 :])
    if not is_dataclass(whole) or first not in {field.name for field in fields(whole)}:
        raise KeyError(f"{type(whole).__name__} has no {first}")
    return replace(whole, **{first: _replaced(getattr(whole, first), rest, value) if rest else value})  # type: ignore[type-var]


def _with_last(tokens: Array, inputs: Any) -> Array:
    """Return tokens, or targets, some of which are the last of the vocabulary."""
    sizes = {"table": 0, "logits": -1}
    name = next((one for one in sizes if hasattr(inputs, one)), None)
    last = (inputs.vocabulary if name is None else getattr(inputs, name).shape[sizes[name]]) - 1
    return np.where(np.arange(tokens.size).reshape(tokens.shape) % 2 == 0, last, tokens)


def _some(value: float) -> Kind:
    """Return the kind in which half of the entries, the first among them, have one value."""
    return lambda array, generator: np.where(_chosen(array, generator), value, array)


def _some_of_either_sign(value: float) -> Kind:
    return lambda array, generator: np.where(_chosen(array, generator), value * _signs(array), array)


def _chosen(array: Array, generator: np.random.Generator) -> Array:
    chosen = generator.random(array.shape) < 0.5
    chosen.reshape(-1)[:2] = True
    return chosen


def _signs(array: Array) -> Array:
    """Return signs that alternate, the first one plus."""
    return np.asarray(1.0 - 2.0 * (np.arange(array.size) % 2).reshape(array.shape))


def _subnormal(array: Array, generator: np.random.Generator) -> Array:
    # A quarter of float32's smallest normal number is subnormal there; in float64 it is only small.
    return np.where(_chosen(array, generator), 0.25 * smallest_normal("float32") * _signs(array), array)


def _fraction(array: Array, generator: np.random.Generator) -> Array:
    return np.asarray(generator.uniform(1.1, 1.9, array.shape) * _signs(array))


def _ties(array: Array, _: np.random.Generator) -> Array:
    tied = array.copy()
    tied[..., :2] = 5.0
    return tied


_FLOATS: dict[str, Kind] = {
    "minus_zero": _some(-0.0),
    "some_zero": _some(0.0),
    "zero": lambda array, _: np.zeros(array.shape),
    "one": lambda array, _: np.ones(array.shape),
    "half": lambda array, _: np.full(array.shape, 0.5),
    "constant": lambda array, _: np.full(array.shape, 0.75),
    "negative": lambda array, _: -np.abs(array) - 0.25,
    "positive": lambda array, _: np.abs(array) + 0.25,
    "some_negative": lambda array, _: -(np.abs(array) + 0.25) * _signs(array),
    "small": lambda array, generator: generator.uniform(-(2.0**-11), 2.0**-11, array.shape),
    "whole": lambda array, generator: generator.integers(1, 4, array.shape) * _signs(array),
    "fraction": _fraction,
    "subnormal": _subnormal,
    "hundred": _some_of_either_sign(100.0),
    "large": _some_of_either_sign(2e4),
    # Its square is finite in float32, since what squares a logit, as a z-loss does, may be switched off by a factor 0.
    "huge": _some_of_either_sign(1e18),
    "far_below": _some(-2e9),
    "ties": _ties,
}


def _with_a_key(mask: Array) -> Array:
    """Return a mask, or a bias, in which each row of a mask keeps a key that it shows."""
    if mask.dtype == bool:
        mask = mask.copy()
        mask[~mask.any(axis=-1), :1] = True
    return mask


def _hidden_key(mask: Array) -> Array:
    visible = np.ones(mask.shape, dtype=bool)
    visible[..., min(1, mask.shape[-1] - 1)] = mask.shape[-1] == 1
    return visible


def _with_gaps(real: Array) -> Array:
    gaps = np.ones(real.shape, dtype=bool)
    gaps[:, 1:-1] = False
    return gaps


def _some_positions(*positions: int) -> Callable[[Array], Array]:
    """Return the change that puts some positions among the others, the first of them first."""

    def change(array: Array) -> Array:
        put = array.copy()
        count = min(len(positions), array.shape[-1])
        put[..., :count] = positions[:count]
        return put

    return change


_OTHERS: dict[str, Callable[[Array], Array]] = {
    "rank_1": lambda array: array.reshape(-1, array.shape[-1])[0],
    "rank_2": lambda array: array.reshape(-1, array.shape[-1]),
    "rank_3": lambda array: array[None],
    "rank_4": lambda array: (
        array.reshape(*array.shape[:1], 1, *array.shape[1:]) if array.ndim == 3 else array.reshape(1, 1, *array.shape)
    ),
    "rank_5": lambda array: array.reshape(*array.shape[:1], *(1,) * (5 - array.ndim), *array.shape[1:]),
    "shape_lengths": lambda table: _with_a_key(table.reshape(-1, *table.shape[-2:])[0]),
    "shape_shared": lambda table: _with_a_key(table[:1, :1]),
    "shape_heads_only": lambda table: _with_a_key(table[:1]),
    "shape_batch_only": lambda table: _with_a_key(table[:, :1]),
    "shape_keys_only": lambda table: _with_a_key(table[:, :1, :1]),
    "shape_one_query": lambda table: _with_a_key(table[:, :, :1]),
    "shape_one_key": lambda table: _with_a_key(table[..., :1]),
    "hidden_key": _hidden_key,
    "lower_triangle": lambda mask: np.tri(*mask.shape[-2:], dtype=bool),
    "all_true": lambda mask: np.ones(mask.shape, dtype=bool),
    "all_false": lambda mask: np.zeros(mask.shape, dtype=bool),
    "with_gaps": _with_gaps,
    "far": _some_positions(2048, 0, 1023, 1024),
    "byte": _some_positions(256, 255, 128, 127),
    "falling": lambda positions: -np.sort(-positions, axis=-1),
    "even": lambda positions: 2 * (positions // 2) + 2,
    "all_zero": np.zeros_like,
    "all_equal": lambda positions: np.full_like(positions, 5),
    "in_order": lambda positions: np.broadcast_to(np.arange(positions.shape[-1]), positions.shape).copy(),
}
