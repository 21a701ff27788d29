"""Small inputs of an operation, drawn from its record, and what the reference makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.spec.operations import OPERATIONS, Parameter

Arguments = Mapping[str, Any]
# Sizes that no two axes share, so that axes are told apart by their lengths.
SIZES = {"B": 2, "H": 3, "G": 3, "L": 5, "S": 7, "D": 4, "Dv": 6, "E": 12, "F": 10, "N": 11, "n": 9}
GROUPED = {"H": 6, "G": 3}
EQUAL_WIDTHS, EQUAL_LENGTHS = {"Dv": 4}, {"S": 5}
_SCALARS: Mapping[str, Any] = {
    "eps": 1e-5,
    "num_heads": 4,
    "num_kv_heads": 4,
    "query_length": "L",
    "key_length": "S",
    "max_length": "S",
    "length": "S",
    "d_model": "E",
    "activation": "relu",
    "scale": 0.3,
    "softcap": 1.5,
    "base": 500.0,
    "rotary_dim": 2,
    "label_smoothing": 0.2,
    "ignore_index": 3,
    "reduction": "sum",
    "num_buckets": 8,
    "max_distance": 20,
    "window": (2, 1),
}
_LOOKING_FROM_THE_END = ({"causal_alignment": "bottom_right"},)
CONVENTIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "scaled_dot_product_attention": _LOOKING_FROM_THE_END,
    "grouped_query_attention": _LOOKING_FROM_THE_END,
    "rotary_embedding": ({"pairing": "half"},),
    "sinusoidal_positions": ({"layout": "concatenated"},),
    "causal_mask": _LOOKING_FROM_THE_END,
    "rms_norm": ({"gain": "one_plus_gamma"},),
    "gelu": ({"form": "tanh"}, {"form": "sigmoid"}),
    "feed_forward": ({"gelu_form": "tanh"}, {"gelu_form": "sigmoid"}),
    "gated_feed_forward": ({"gelu_form": "tanh"}, {"gelu_form": "sigmoid"}),
}
"""Under which other conventions the reference computes an operation, by its own keywords."""
# An entry of a result may differ by this much of the largest one: GELU's two forms differ by less.
_NEAR = 2e-3
_SEED = 5


@dataclass(frozen=True)
class Probe:
    """Arguments of one call by the interface's names, as NumPy arrays, and the result of the reference.

    `others` are its results under other conventions.
    """

    operation: str
    arguments: Arguments
    expected: np.ndarray = field(repr=False)
    others: tuple[np.ndarray, ...] = field(default=(), repr=False)

    def is_answered_by(self, result: np.ndarray) -> bool:
        """Return whether a result is that of the reference under one of the conventions."""
        return any(is_near(result, one) for one in self.results)

    @property
    def results(self) -> tuple[np.ndarray, ...]:
        """The results of the reference under each convention, the standard one first."""
        return self.expected, *self.others

    def with_argument(self, name: str, value: Any) -> Probe:
        """Return the probe with another value of an argument."""
        return self.with_arguments({name: value})

    def with_arguments(self, values: Mapping[str, Any]) -> Probe:
        """Return the probe with other values of some arguments."""
        return probe_with(self.operation, {**self.arguments, **values})


def probe_of(operation: str, sizes: Mapping[str, int] | None = None, **given: Any) -> Probe:
    """Return a probe with all required arguments, and those `given`; sizes are those of SIZES but for `sizes`."""
    record, lengths = OPERATIONS[operation], {**SIZES, **(sizes or {})}
    numbers = np.random.default_rng(_SEED)
    required = [one for one in record.parameters if one.is_required]
    drawn = {one.name: drawn_argument(one, lengths, numbers) for one in required}
    return probe_with(operation, {**drawn, **given})


def probe_of_sizes(
    operation: str, sizes: Mapping[str, int], others: Mapping[str, int] | None = None, **given: Any
) -> Probe:
    """Return a probe of these sizes, by the names of `fixed_values`, with all required arguments and those `given`.

    `others` are further lengths, by the letters of the interface.
    """
    letters = {"d_model": "E", "d_ff": "F"}
    lengths = {**{letters[name]: value for name, value in sizes.items() if name in letters}, **(others or {})}
    if is_grouped(sizes):
        width = sizes["d_model"] // sizes["num_heads"] * sizes["num_kv_heads"]
        lengths |= {"G·D": width, "G·Dv": width}
        given = {"num_kv_heads": sizes["num_kv_heads"], **given}
    if "num_heads" in sizes:
        given = {"num_heads": sizes["num_heads"], **given}
    return probe_of(operation, lengths, **given)


def is_grouped(sizes: Mapping[str, int]) -> bool:
    """Return whether heads share keys and values in these sizes."""
    return sizes.get("num_kv_heads", 0) != sizes.get("num_heads", 0)


def probe_with(operation: str, arguments: Arguments) -> Probe:
    """Return a probe with these arguments."""
    # The reference is imported where a function has to be told from others, and only there.
    from veriformer.adapters import numpy as reference

    positional = [arguments[name] for name in OPERATIONS[operation].positional]
    named = {name: value for name, value in arguments.items() if name not in OPERATIONS[operation].positional}
    with np.errstate(all="ignore"):
        function = getattr(reference, operation)
        conventions = ({}, *_conventions_of(operation, arguments))
        answers = (function(*positional, **named, **one) for one in conventions)
        # Of several results the first tells.
        expected, *others = (np.asarray(one[0] if isinstance(one, tuple) else one) for one in answers)
    return Probe(operation, arguments, expected, tuple(others))


def _conventions_of(operation: str, arguments: Arguments) -> tuple[Mapping[str, str], ...]:
    """Return the other conventions that change the result for these arguments."""
    conventions = CONVENTIONS.get(operation, ())
    has_no_order = not arguments.get("is_causal") and arguments.get("window") is None
    return () if "query" in arguments and has_no_order else conventions


def drawn_argument(parameter: Parameter, lengths: Mapping[str, int], numbers: np.random.Generator) -> Any:
    """Return an argument of a parameter's kind and shape."""
    if parameter.kind == "weights":
        return _weights(parameter.shape, lengths, numbers)
    if parameter.kind == "flag":
        return True
    if parameter.name in _SCALARS:
        value = _SCALARS[parameter.name]
        return lengths.get(value, value) if isinstance(value, str) else value
    shape = shape_in(parameter.shape, lengths)
    if parameter.kind == "bool":
        return _visible(lengths, numbers)
    if parameter.kind == "int":
        return _integers(parameter.name, shape, lengths, numbers)
    return numbers.standard_normal(shape)


def shape_in(words: str, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Return the first shape in a description of shapes, with these lengths."""
    if "broadcastable to" in words:
        words = words.partition("broadcastable to")[2]
    inside = re.search(r"\(([^()]*)\)", words)
    names = [name.strip() for name in inside.group(1).split(",")] if inside else []
    shape: list[int] = []
    for name in filter(None, names):
        shape += [2, 5] if name == "..." else [lengths[name]]
    return tuple(shape)


def _weights(words: str, lengths: Mapping[str, int], numbers: np.random.Generator) -> SimpleNamespace:
    """Return a record with the matrices that a description names, and without biases."""
    whole = lengths["E"]
    lengths = {"H·D": whole, "G·D": whole, "G·Dv": whole, "H·Dv": whole, **lengths}
    found = {
        name: numbers.standard_normal([lengths[one.strip()] for one in shape.split(",")]) / 3
        for name, shape in re.findall(r"(w_\w+) \(([^()]*)\)", words)
    }
    biases = re.findall(r"b_\w+", words)
    return SimpleNamespace(**found, **dict.fromkeys(biases))


def _visible(lengths: Mapping[str, int], numbers: np.random.Generator) -> np.ndarray:
    """Return a mask that differs between samples, heads and rows, and hides some key of each row, never all."""
    shape = (lengths["B"], lengths["H"], lengths["L"], lengths["S"])
    mask = numbers.random(shape) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _integers(
    name: str, shape: tuple[int, ...], lengths: Mapping[str, int], numbers: np.random.Generator
) -> np.ndarray:
    if name == "positions":
        return np.arange(shape[0])
    if name == "lengths":
        return np.arange(shape[0]) * 3 + 2
    if name == "relative_position":
        return np.arange(-30, 31).reshape(1, -1)
    return numbers.integers(0, lengths["N"], shape)


def is_near(got: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two results are equal but for rounding, and for forms that hardly differ."""
    if got.shape != expected.shape:
        return False
    if expected.dtype == bool or got.dtype == bool:
        return bool(np.array_equal(got, expected))
    scale = max(float(np.max(np.abs(expected), initial=0)), 1e-30)
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(got - expected) <= _NEAR * scale))
