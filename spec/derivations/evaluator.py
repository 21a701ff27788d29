"""Evaluation of the formulas by loops, without any of SymPy's rewriting.

Sums are loops, arrays are tables, permutations are tuples, derivatives are carried by dual numbers, and expectations
are sums over all outcomes of a discrete law. This is the independent witness of every proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import sympy
from sympy import Indexed, KroneckerDelta, Sum
from veriformer.spec.derivations.arithmetic import FLOATS, Arithmetic, Dual, as_dual
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.expressions import (
    DerivationError,
    Expectation,
    Partial,
    Quotient,
    Remainder,
    Variance,
)
from veriformer.spec.derivations.printing import in_words

Bound = Mapping[Any, int]
Entry = tuple[Any, tuple[int, ...]]
Distribution = tuple[tuple[float, float], ...]


@dataclass
class World:
    """Values for everything an expression leaves open.

    `symbols` by symbol, `arrays` by (base, indices), `permutations` by function symbol (images of 1, 2, …), `laws` by
    base as (outcome, probability). A missing array entry is drawn by `draw` and kept.
    """

    symbols: dict[Any, Any] = field(default_factory=dict)
    arrays: dict[Entry, Any] = field(default_factory=dict)
    permutations: dict[Any, dict[int, int]] = field(default_factory=dict)
    laws: dict[Any, Distribution] = field(default_factory=dict)
    draw: Callable[[Entry], Any] | None = None

    def copy(self) -> World:
        """The same values in separate tables, since evaluation fills them in."""
        return replace(self, symbols=dict(self.symbols), arrays=dict(self.arrays))

    def of(self, expressions: Iterable[Any]) -> World:
        """The values of what occurs in the expressions."""
        stated = list(expressions)

        def occurs(part: Any) -> bool:
            return any(each.has(part) for each in stated)

        return World(
            {symbol: value for symbol, value in self.symbols.items() if occurs(symbol)},
            {entry: value for entry, value in self.arrays.items() if occurs(entry[0])},
            {function: images for function, images in self.permutations.items() if occurs(function)},
            {base: law for base, law in self.laws.items() if occurs(base)},
        )

    def in_words(self) -> tuple[str, ...]:
        """The values given, one phrase each."""
        given = [f"{in_words(symbol)} = {_shown(value)}" for symbol, value in self.symbols.items()]
        given += [f"{in_words(base[indices])} = {_shown(value)}" for (base, indices), value in self.arrays.items()]
        for function, images in self.permutations.items():
            given += [f"{in_words(function)}({place}) = {image}" for place, image in images.items()]
        for base, law in self.laws.items():
            outcomes = " or ".join(f"{_shown(f'{outcome:g}')} with probability {weight:g}" for outcome, weight in law)
            given.append(f"each component of {in_words(base)} is {outcomes}")
        return tuple(given)

    def entry(self, key: Entry) -> Any:
        """The value of an array entry."""
        if key not in self.arrays:
            if key[0] in self.laws:
                self.arrays[key] = self.laws[key[0]][0][0]
                return self.arrays[key]
            if self.draw is None:
                raise DerivationError(f"the example gives no value for {key[0]}{list(key[1])}")
            self.arrays[key] = self.draw(key)
        return self.arrays[key]


class Evaluator:
    """The value of an expression in a world, in a given arithmetic; names have the values of their meanings."""

    def __init__(self, world: World, arithmetic: Arithmetic = FLOATS, definitions: Sequence[Definition] = ()) -> None:
        self.world = world
        self.arithmetic = arithmetic
        self.definitions = {definition.name: definition for definition in definitions}

    def value(self, expression: Any, bound: Bound | None = None) -> Any:
        """Evaluate; DerivationError where the expression contains a function without a meaning here."""
        bound = bound or {}
        if self.definitions and (definition := self._definition_of(expression)) is not None:
            return self._meaning(definition, expression, bound)
        handler = _HANDLERS.get(type(expression))
        if handler is not None:
            return handler(self, expression, bound)
        if expression.is_Symbol:
            return bound[expression] if expression in bound else self._symbol(expression)
        if expression.is_Rational:
            return self.arithmetic.fraction(int(expression.p), int(expression.q))
        if expression is sympy.pi:
            return self.arithmetic.pi
        if expression.func in self.world.permutations:
            return self._image(expression, bound)
        function = self.arithmetic.functions.get(type(expression).__name__)
        if function is None:
            raise DerivationError(f"the evaluator has no meaning for {expression}")
        return function(self.value(expression.args[0], bound))

    def _image(self, expression: Any, bound: Bound) -> int:
        images, place = self.world.permutations[expression.func], self.value(expression.args[0], bound)
        if place not in images:
            raise DerivationError(f"{in_words(expression.func)} is given for {sorted(images)}, not for {place}")
        return images[place]

    def _definition_of(self, expression: Any) -> Definition | None:
        return self.definitions.get(expression.base if isinstance(expression, Indexed) else expression)

    def _meaning(self, definition: Definition, expression: Any, bound: Bound) -> Any:
        placeholders, body = definition.body
        indices = expression.indices if placeholders else ()
        values = {own: self.value(index, bound) for own, index in zip(placeholders, indices, strict=True)}
        return self.value(body, values)

    def _symbol(self, symbol: Any) -> Any:
        if symbol not in self.world.symbols:
            raise DerivationError(f"no value is given for {symbol}")
        return self._number(self.world.symbols[symbol])

    def _number(self, given: Any) -> Any:
        """Exact fractions of an example in the arithmetic at hand."""
        if isinstance(given, Fraction):
            return self.arithmetic.fraction(given.numerator, given.denominator)
        return given

    def _sum(self, expression: Any, bound: Bound) -> Any:
        return self._loop(expression.function, list(expression.limits), bound)

    def _loop(self, summand: Any, limits: list[Any], bound: Bound) -> Any:
        if not limits:
            return self.value(summand, bound)
        index, low, high = limits[-1]
        result: Any = 0
        for position in range(self.value(low, bound), self.value(high, bound) + 1):
            result = result + self._loop(summand, limits[:-1], {**bound, index: position})
        return result

    def _entry(self, expression: Any, bound: Bound) -> Any:
        indices = tuple(self.value(index, bound) for index in expression.indices)
        return self._number(self.world.entry((expression.base, indices)))

    def _delta(self, expression: Any, bound: Bound) -> int:
        return int(self.value(expression.args[0], bound) == self.value(expression.args[1], bound))

    def _add(self, expression: Any, bound: Bound) -> Any:
        result: Any = 0
        for part in expression.args:
            result = result + self.value(part, bound)
        return result

    def _multiply(self, expression: Any, bound: Bound) -> Any:
        result: Any = 1
        for factor in expression.args:
            result = result * self.value(factor, bound)
        return result

    def _power(self, expression: Any, bound: Bound) -> Any:
        base, exponent = (self.value(part, bound) for part in expression.args)
        if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
            return base**exponent
        return self.arithmetic.power(base, exponent)

    def _quotient(self, expression: Any, bound: Bound) -> Any:
        numerator, divisor = (self.value(part, bound) for part in expression.args)
        return numerator // divisor

    def _remainder(self, expression: Any, bound: Bound) -> Any:
        numerator, divisor = (self.value(part, bound) for part in expression.args)
        return numerator % divisor

    def _partial(self, expression: Any, bound: Bound) -> float:
        """The derivative, by giving the entry a slope of 1 and reading off the slope of the result."""
        function, variable = expression.args
        symbol = variable.is_Symbol
        table: dict[Any, Any] = self.world.symbols if symbol else self.world.arrays
        key = variable if symbol else (variable.base, tuple(self.value(index, bound) for index in variable.indices))
        original = self.value(variable, bound)
        table[key] = Dual(float(original), 1.0)
        try:
            return as_dual(self.value(function, bound)).slope
        finally:
            table[key] = original

    def _expectation(self, expression: Any, bound: Bound) -> float:
        return self._enumerate(expression.args[0], bound, 1)

    def _variance(self, expression: Any, bound: Bound) -> float:
        mean = self._enumerate(expression.args[0], bound, 1)
        return self._enumerate(expression.args[0], bound, 2) - mean**2

    def _enumerate(self, variable: Any, bound: Bound, power: int) -> float:
        """Σ over all joint outcomes of probability × value^power."""
        components = self._random_components(variable, bound)
        expected = 0.0
        for outcomes in itertools.product(*[self.world.laws[base] for base, _ in components]):
            probability = 1.0
            for component, (outcome, weight) in zip(components, outcomes, strict=True):
                self.world.arrays[component] = outcome
                probability *= weight
            expected += probability * self.value(variable, bound) ** power
        return expected

    def _random_components(self, variable: Any, bound: Bound) -> list[Entry]:
        """Which random components a variable reads, found by reading it once."""
        self.world.arrays = {key: kept for key, kept in self.world.arrays.items() if key[0] not in self.world.laws}
        self.value(variable, bound)
        return [key for key in self.world.arrays if key[0] in self.world.laws]


_HANDLERS: dict[Any, Callable[[Evaluator, Any, Bound], Any]] = {
    Sum: Evaluator._sum,
    Indexed: Evaluator._entry,
    KroneckerDelta: Evaluator._delta,
    sympy.Add: Evaluator._add,
    sympy.Mul: Evaluator._multiply,
    sympy.Pow: Evaluator._power,
    Partial: Evaluator._partial,
    Expectation: Evaluator._expectation,
    Variance: Evaluator._variance,
    Quotient: Evaluator._quotient,
    Remainder: Evaluator._remainder,
}


def _shown(value: Any) -> str:
    """A number of an example with the minus sign of mathematics."""
    return str(value).replace("-", "−")
