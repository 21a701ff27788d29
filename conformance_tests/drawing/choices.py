"""Choices that can be drawn directly at random, thousands in a second, or by a Hypothesis strategy.

A run draws its cases directly, because drawing a case with Hypothesis takes longer than judging it. The strategy of a
choice is for tests that are written with Hypothesis. The functions have the names and meanings of those in
`hypothesis.strategies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from hypothesis import strategies as st

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")


def _strategies() -> Any:
    """Return Hypothesis's strategies, which a run does without: importing them takes a tenth of a second."""
    from hypothesis import strategies

    return strategies


class Draw(Protocol):
    """Draws from a choice: the first argument of a composite one."""

    def __call__(self, choice: Choice[T]) -> T:
        """Return something drawn."""


class Choice(Generic[T_co]):
    """Something to draw: `sample` at random, or by the Hypothesis strategy, which is made when it is first needed."""

    def __init__(self, sample: Callable[[Random], T_co], strategy: Callable[[], st.SearchStrategy[T_co]]) -> None:
        self.sample = sample
        self._strategy = strategy

    @cached_property
    def strategy(self) -> st.SearchStrategy[T_co]:
        """The Hypothesis strategy that draws the same."""
        return self._strategy()

    def map(self, function: Callable[[T_co], U]) -> Choice[U]:
        """Return the choice of the function's results on this one."""
        sample = self.sample
        return Choice(lambda random: function(sample(random)), lambda: self.strategy.map(function))


def sampled_from(elements: Sequence[T]) -> Choice[T]:
    """Return the choice among elements, the first the smallest; ValueError when there are none."""
    if not elements:
        raise ValueError("there is nothing to choose from")
    count = len(elements)
    return Choice(lambda random: elements[int(random.random() * count)], lambda: _strategies().sampled_from(elements))


def in_turn(elements: Sequence[T], preferred: Callable[[Sequence[T]], Sequence[T]] = tuple) -> Choice[T]:
    """Return the choice that takes the elements in turn, so that few draws meet many of them. Hypothesis chooses from
    them in the order of `preferred`.
    """
    turns = cycle(elements)
    return Choice(lambda _: next(turns), lambda: _strategies().sampled_from(preferred(elements)))


def in_some_order(elements: Iterable[T], seed: int) -> Choice[T]:
    """Return the choice that takes the elements one after the other, in an order that follows from the seed."""
    given = tuple(elements)
    return in_turn(Random(seed).sample(given, len(given)), lambda _: given)


def integers(least: int, most: int) -> Choice[int]:
    """Return the choice of an integer, both ends included."""
    count = most - least + 1
    return Choice(lambda random: least + int(random.random() * count), lambda: _strategies().integers(least, most))


def booleans() -> Choice[bool]:
    """Return the choice of a truth value."""
    return Choice(lambda random: random.random() < 0.5, lambda: _strategies().booleans())


def one_of(*choices: Choice[T]) -> Choice[T]:
    """Return the choice of one of the choices, each as likely as another."""
    chosen = sampled_from(choices)
    return Choice(
        lambda random: chosen.sample(random).sample(random),
        lambda: _strategies().one_of(*(item.strategy for item in choices)),
    )


def tuples(*choices: Choice[Any]) -> Choice[tuple[Any, ...]]:
    """Return the choice of one of each."""
    return Choice(
        lambda random: tuple(choice.sample(random) for choice in choices),
        lambda: _strategies().tuples(*(choice.strategy for choice in choices)),
    )


def lists(elements: Choice[T], *, min_size: int, max_size: int) -> Choice[list[T]]:
    """Return the choice of a list, every length as likely as another."""
    length = integers(min_size, max_size)
    return Choice(
        lambda random: [elements.sample(random) for _ in range(length.sample(random))],
        lambda: _strategies().lists(elements.strategy, min_size=min_size, max_size=max_size),
    )


def builds(function: Callable[..., T], *choices: Choice[Any]) -> Choice[T]:
    """Return the choice of the function's results on one of each."""
    return Choice(
        lambda random: function(*(choice.sample(random) for choice in choices)),
        lambda: _strategies().builds(function, *(choice.strategy for choice in choices)),
    )


def composite(function: Callable[Concatenate[Draw, P], T]) -> Callable[P, Choice[T]]:
    """Return the function of choices that draws from others, step by step, with the given `draw`."""

    def choice(*arguments: P.args, **keywords: P.kwargs) -> Choice[T]:
        def drawn(draw: st.DrawFn) -> T:
            return function(cast(Draw, lambda inner: draw(inner.strategy)), *arguments, **keywords)

        def strategy() -> st.SearchStrategy[T]:
            made: st.SearchStrategy[T] = _strategies().composite(drawn)()
            return made

        return Choice(
            lambda random: function(cast(Draw, lambda inner: inner.sample(random)), *arguments, **keywords), strategy
        )

    return choice
