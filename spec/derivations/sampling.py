"""Random worlds that satisfy a context: small sizes, indices in range, arrays that obey the declared hypotheses."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import sympy
from sympy import Expr, Indexed, IndexedBase, Symbol
from veriformer.spec.derivations.context import Block, Context, RandomFamily
from veriformer.spec.derivations.evaluator import Entry, Evaluator, World
from veriformer.spec.derivations.expressions import DerivationError

_ATTEMPTS = 400


class WorldSampler:
    """Draws worlds in which some expressions have values and every hypothesis of a context holds."""

    def __init__(self, sides: list[Expr], context: Context, random: Random) -> None:
        self.context = context
        self.random = random
        symbols = _open_symbols(sides, context)
        self._indices = [symbol for symbol in symbols if symbol in context.ranges]
        self._free = [symbol for symbol in symbols if symbol not in {*context.ranges, *context.parametrisation}]

    def draw(self) -> World:
        """A random world; DerivationError if none that satisfies the facts is found."""
        for _ in range(_ATTEMPTS):
            world = self._attempt()
            if world is not None:
                return world
        raise DerivationError("no random assignment satisfies the declared facts; they may contradict each other")

    def _attempt(self) -> World | None:
        world = World()
        world.draw = _ArrayDraw(self.context, self.random, world)
        evaluator = Evaluator(world)
        for symbol in self._free:
            world.symbols[symbol] = _draw_symbol(symbol, self.random)
        for symbol, value in self.context.parametrisation.items():
            world.symbols[symbol] = evaluator.value(value)
        for symbol in self._indices:
            low, high = (evaluator.value(bound) for bound in self.context.ranges[symbol])
            if low > high:
                return None
            world.symbols[symbol] = self.random.randint(low, high)
        self._draw_permutations(evaluator)
        for family in self.context.families:
            _draw_law(family, world, self.random)
        return world if _facts_hold(self.context, evaluator) else None

    def _draw_permutations(self, evaluator: Evaluator) -> None:
        for bijection, (low, high) in self.context.bijections.items():
            domain = list(range(evaluator.value(low), evaluator.value(high) + 1))
            images = self.random.sample(domain, len(domain))
            evaluator.world.permutations[bijection] = dict(zip(domain, images, strict=True))


def _open_symbols(sides: list[Expr], context: Context) -> list[Symbol]:
    expressions = [sympy.sympify(side) for side in sides]
    bounds = [*context.ranges.values(), *context.bijections.values()]
    expressions += [sympy.sympify(bound) for pair in bounds for bound in pair]
    expressions += [
        *context.facts,
        *map(sympy.sympify, context.facts.values()),
        *context.parametrisation.values(),
    ]
    expressions += [part for family in context.families for part in (family.mean, family.deviation)]
    labels = {base.label for side in expressions for base in side.atoms(IndexedBase)}
    symbols = {symbol for side in expressions for symbol in side.free_symbols if symbol.is_Symbol}
    return sorted(symbols - labels, key=str)


def _draw_symbol(symbol: Symbol, random: Random) -> Any:
    if symbol.is_integer:
        low = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else -3
        return random.randint(low, 3)
    return _draw_real(symbol, random)


def _draw_real(expression: Expr, random: Random) -> float:
    return random.uniform(0.2, 2.0) if expression.is_nonnegative else random.uniform(-1.5, 1.5)


class _ArrayDraw:
    """Draws an array entry: a declared constant, 0 or 1 for an indicator, otherwise a random real."""

    def __init__(self, context: Context, random: Random, world: World) -> None:
        self.context = context
        self.random = random
        self.world = world

    def __call__(self, key: Entry) -> Any:
        base, indices = key
        for block in self.context.blocks:
            if block.base == base and self._inside(block, indices):
                return block.value
        if base in self.context.indicators:
            return self.random.randint(0, 1)
        return _draw_real(base[tuple(indices)], self.random)

    def _inside(self, block: Block, indices: tuple[int, ...]) -> bool:
        evaluator = Evaluator(self.world)
        return all(
            bounds is None or evaluator.value(sympy.sympify(bounds[0])) <= index <= evaluator.value(bounds[1])
            for bounds, index in zip(block.ranges, indices, strict=True)
        )


def _draw_law(family: RandomFamily, world: World, random: Random) -> None:
    """A skewed law on three points with the family's mean and deviation; its higher moments are read off."""
    evaluator = Evaluator(world)
    weights = [random.uniform(0.1, 1.0) for _ in range(3)]
    law = [(random.uniform(-1.0, 1.0) + place**2, weight / sum(weights)) for place, weight in enumerate(weights)]
    mean = sum(outcome * weight for outcome, weight in law)
    deviation = math.sqrt(sum((outcome - mean) ** 2 * weight for outcome, weight in law))
    standard = [((outcome - mean) / deviation, weight) for outcome, weight in law]
    for symbol, order in ((family.skewness, 3), (family.kurtosis, 4)):
        if symbol is not None:
            world.symbols[symbol] = sum(outcome**order * weight for outcome, weight in standard)
    centre, spread = evaluator.value(family.mean), evaluator.value(family.deviation)
    world.laws[family.base] = tuple((centre + spread * outcome, weight) for outcome, weight in standard)


def _facts_hold(context: Context, evaluator: Evaluator) -> bool:
    """Make array entries equal to their declared values; for any other fact, ask whether it happens to hold."""
    for expression, value in context.facts.items():
        wanted = evaluator.value(sympy.sympify(value))
        if isinstance(expression, Indexed):
            indices = tuple(evaluator.value(index) for index in expression.indices)
            evaluator.world.arrays[(expression.base, indices)] = wanted
        elif not math.isclose(evaluator.value(expression), wanted, abs_tol=1e-12):
            return False
    return True
