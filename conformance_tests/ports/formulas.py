"""What one step of a recorded model computes, told by its numbers, whatever its framework calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.cuts import ways
from veriformer.conformance_tests.recognition.agreement import SINGLE, agree
from veriformer.conformance_tests.recognition.elementwise import ACTIVATIONS, activation_of, factor_of, shift_of
from veriformer.conformance_tests.recognition.flow import Flow

# A model in float64 may have a few steps in float32.
_UNIT = SINGLE / 64
_MOST_NUMBERS = 2**20


@dataclass(frozen=True)
class Formula:
    """What a step computes: a name, the constant in it, the axes that it goes along, and words for a reader.

    `axis` has their lengths, since two models may have their axes in another order; None where there is none.
    """

    name: str
    words: str
    constant: float | None = None
    axis: tuple[int, ...] | None = None

    @property
    def is_activation(self) -> bool:
        """Whether it is a function of each number that networks use as an activation."""
        return self.name in ACTIVATIONS

    @property
    def takes_two(self) -> bool:
        """Whether it puts two values together number by number."""
        return self.name in _OF_TWO

    @property
    def is_over_an_axis(self) -> bool:
        """Whether it makes one number of all along an axis."""
        return self.name.endswith(" over an axis")

    @property
    def is_linear(self) -> bool:
        """Whether a factor of one operand is a factor of the result."""
        return self.name in _LINEAR

    @property
    def is_known(self) -> bool:
        """Whether its numbers tell what it computes, and not only its name in the framework."""
        return not self.name.startswith("operation ")


_MADE: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.CONTRACTION: "a product summed over an axis",
        Kind.LOOKUP: "rows of a table",
        Kind.ATTENTION: "attention",
        Kind.REARRANGEMENT: "numbers that are moved",
    }
)
_OF_ONE: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "exp": np.exp,
        "log": np.log,
        "square": np.square,
        "square root": np.sqrt,
        "inverse square root": lambda x: 1.0 / np.sqrt(x),
        "inverse": lambda x: 1.0 / x,
        "absolute value": np.abs,
        "sine": np.sin,
        "cosine": np.cos,
        "expm1": np.expm1,
        "log1p": np.log1p,
        "cube": lambda x: x**3,
        "1 - x": lambda x: 1.0 - x,
    }
)
_OF_TWO: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {
        "product": np.multiply,
        "sum": np.add,
        "difference": np.subtract,
        "quotient": np.divide,
        "larger of two": np.maximum,
        "smaller of two": np.minimum,
        "power": np.power,
    }
)
_LINEAR = ("product", "quotient", "factor", "sign", "sum over an axis", "running sum", *_MADE.values())
_OVER: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {"mean": np.mean, "sum": np.sum, "maximum": np.max, "minimum": np.min, "variance": np.var, "product": np.prod}
)


def _softmax(x: Array, axis: int) -> Array:
    raised = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(raised / raised.sum(axis, keepdims=True))


_ALONG: Mapping[str, Callable[[Array, int], Array]] = MappingProxyType(
    {
        "softmax": _softmax,
        "log softmax": lambda x, axis: np.log(_softmax(x, axis)),
        "running sum": np.cumsum,
        "running product": np.cumprod,
        "running maximum": np.maximum.accumulate,
        "sorted": np.sort,
    }
)


def formula_of(flow: Flow, step: Step) -> Formula:
    """Return what a step computes; where its numbers do not tell, what its framework calls it."""
    if step.kind in _MADE:
        return Formula(_MADE[step.kind], _MADE[step.kind])
    unknown = Formula(f"operation {step.operation}", f"the operation {_plain(step.operation)}")
    result = flow.array(step.results[0])
    arrays = [flow.array(one) for one in step.operands if flow.array(one).dtype.kind == "f"]
    if result.dtype.kind != "f" or not arrays or result.size > _MOST_NUMBERS:
        return unknown
    with np.errstate(all="ignore"):
        return next(_formulas(arrays, result), unknown)


def _plain(operation: str) -> str:
    """Return the name of an operation as its users write it: "var" for "aten.var.correction"."""
    parts = operation.split(".")
    return parts[1] if parts[0] == "aten" and len(parts) > 1 else operation


def _formulas(arrays: list[Array], result: Array) -> Iterator[Formula]:
    large = [array for array in arrays if array.size > 1]
    if len(large) == 2:
        yield from _of_two(large[0], large[1], result)
    if len(large) == 1:
        yield from of_one(large[0], result)
        constants = [float(array.flat[0]) for array in arrays if array.size == 1]
        yield from _with_constant(large[0], constants, result)
    if len(large) == 1 and large[0].shape == result.shape:
        yield from _along(large[0], result)
    if len(large) == 1 and large[0].size > result.size:
        yield from _over(large[0], result)


def of_one(x: Array, y: Array) -> Iterator[Formula]:
    """Yield what may give one array from another of the same size, number by number."""
    if x.size != y.size:
        return
    x = x.reshape(y.shape)
    if agree(y, x):
        yield Formula("the same", "the same")
    if agree(y, -x):
        yield Formula("sign", "the negative", -1.0)
    factor = factor_of(x, y, _UNIT)
    if factor is not None:
        yield Formula("factor", f"times {factor:.6g}", factor)
    shift = shift_of(x, y, _UNIT)
    if shift is not None:
        yield Formula("shift", f"plus {shift:.6g}", shift)
    name = activation_of(x, y, _UNIT)
    if name is not None:
        yield Formula(name, name)
    for name, function in _OF_ONE.items():
        if agree(y, np.asarray(function(x)), _UNIT):
            yield Formula(name, name)


def _with_constant(x: Array, constants: list[float], y: Array) -> Iterator[Formula]:
    for constant in constants:
        for name, function in _OF_TWO.items():
            for one, other in ((x, np.asarray(constant)), (np.asarray(constant), x)):
                if agree(np.asarray(function(one, other)), y, _UNIT):
                    yield Formula(f"{name} with a constant", f"{name} with {constant:.6g}", constant)


def _of_two(x: Array, y: Array, result: Array) -> Iterator[Formula]:
    for name, function in _OF_TWO.items():
        for one, other in ((x, y), (y, x)):
            try:
                found = np.asarray(function(one, other))
            except ValueError:
                continue
            if agree(result, found, _UNIT):
                yield Formula(name, _WORDS.get(name, name))


_WORDS = {"sum": "the sum of two values", "product": "the product of two values", "difference": "a difference"}


def _along(x: Array, y: Array) -> Iterator[Formula]:
    for axis in range(x.ndim):
        if x.shape[axis] < 2:
            continue
        for name, function in _ALONG.items():
            if agree(y, np.asarray(function(x, axis)), _UNIT):
                yield Formula(name, f"{name} along {_axis(axis, x)}", None, (x.shape[axis],))


def _over(x: Array, y: Array) -> Iterator[Formula]:
    for many in (1, 2, 3):
        for axes in combinations(range(x.ndim), many):
            if x.size // int(np.prod([x.shape[axis] for axis in axes])) != y.size:
                continue
            for name, function in _OVER.items():
                if agree(y.ravel(), np.asarray(function(x, axis=axes)).ravel(), _UNIT):
                    named = " and ".join(_axis(axis, x) for axis in axes)
                    lengths = tuple(x.shape[axis] for axis in axes)
                    # A mean is often written as a sum and a division.
                    family = "sum" if name == "mean" else name
                    yield Formula(f"{family} over an axis", f"{name} over {named}", None, lengths)


def _axis(axis: int, array: Array) -> str:
    return f"the axis of length {array.shape[axis]}"


def applied(flow: Flow, start: int, values: Sequence[int]) -> list[tuple[Formula, int]]:
    """Return the values that an activation, or a function along an axis, gives from another one, with that function."""
    x = flow.array(start)
    if not np.isfinite(x).all() or x.size > _MOST_NUMBERS:
        return []
    found = []
    for value in values:
        y = flow.array(value)
        if y.dtype.kind == "f" and y.size == x.size:
            formula = next((one for way in _ways(x, y) for one in _functions(x, way)), None)
            found += [(formula, value)] if formula is not None else []
    return found


def _functions(x: Array, y: Array) -> Iterator[Formula]:
    name = activation_of(x, y, _UNIT)
    if name is not None:
        yield Formula(name, name)
    if x.shape == y.shape:
        with np.errstate(all="ignore"):
            yield from _along(x, y)


def _ways(x: Array, y: Array) -> Iterator[Array]:
    if x.shape == y.shape:
        yield y
    elif x.ndim == y.ndim:
        yield from (way for way in ways(x, y) if way.shape == x.shape)
