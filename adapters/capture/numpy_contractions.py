"""The products of NumPy as sums over axes of two factors: matmul, dot, inner, tensordot, einsum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np
from veriformer.adapters.capture.weights import Array

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Contraction:
    """A sum of products: the factors, spread where one has fewer samples; the axes of each that are summed over, and
    those that go through side by side.

    `product` has the parallel axes first, then those of the first factor, then those of the second; `order` turns it
    into what the function returns, None where it is that already. `places` are the factors among the arguments.
    """

    factors: tuple[Array, Array]
    contracted: tuple[Axes, Axes]
    parallel: tuple[Axes, Axes]
    product: Array
    order: Axes | None = None
    places: tuple[int, int] = (0, 1)

    def factors_among(self, args: Sequence[Any]) -> tuple[Any, Any]:
        """Return the two factors among the arguments of the function."""
        return args[self.places[0]], args[self.places[1]]


def contraction_of(name: str, args: Sequence[Any], keywords: dict[str, Any] | None = None) -> Contraction | None:
    """Return what a function of NumPy sums over, None where it is no sum of products of two arrays."""
    keywords = keywords or {}
    if "out" in keywords or any(isinstance(one, list | tuple) for one in args[:2]):
        return None
    if name == "matmul":
        return _matmul(*args[:2])
    if name == "dot" and min(np.ndim(one) for one in args[:2]) > 0:
        return _over(args, (np.ndim(args[0]) - 1,), (max(np.ndim(args[1]) - 2, 0),))
    if name == "inner" and min(np.ndim(one) for one in args[:2]) > 0:
        return _over(args, (np.ndim(args[0]) - 1,), (np.ndim(args[1]) - 1,))
    if name == "tensordot":
        return _tensordot(args, keywords)
    return _einsum(args) if name == "einsum" else None


def _over(args: Sequence[Any], first: Axes, second: Axes) -> Contraction:
    product = np.tensordot(args[0], args[1], axes=(first, second))
    return Contraction((args[0], args[1]), (first, second), ((), ()), product)


def _matmul(one: Array, other: Array) -> Contraction | None:
    if one.ndim <= 2 and other.ndim <= 2:
        return _over((one, other), (one.ndim - 1,), (max(other.ndim - 2, 0),))
    if other.ndim <= 2:
        # A matrix of weights, for all samples the same.
        return _over((one, other), (one.ndim - 1,), (max(other.ndim - 2, 0),))
    if one.ndim == 1:
        product = np.squeeze(one[None] @ other, -2)
        return Contraction((one, other), ((0,), (other.ndim - 2,)), ((), ()), product)
    return _of_samples(one, other)


def _of_samples(one: Array, other: Array) -> Contraction | None:
    """Return a product of stacks of matrices; an axis of samples that only one of them has is its own."""
    count = max(one.ndim, other.ndim) - 2
    letters = ascii_letters[:count]
    terms, arrays = [], []
    for array, rest in ((one, other), (other, one)):
        shape = (1,) * (count + 2 - array.ndim) + array.shape
        against = (1,) * (count + 2 - rest.ndim) + rest.shape
        # Of an axis of one in both, the first factor has it.
        kept = [i for i in range(count) if shape[i] > 1 or (against[i] == 1 and array is one)]
        terms.append("".join(letters[i] for i in kept))
        arrays.append(array.reshape(*(shape[i] for i in kept), *array.shape[-2:]))
    found = _einsum((f"{terms[0]}XY,{terms[1]}YZ->{letters}XZ", *arrays))
    return None if found is None else replace(found, places=(0, 1))


def _tensordot(args: Sequence[Any], keywords: dict[str, Any]) -> Contraction:
    axes = args[2] if len(args) > 2 else keywords.get("axes", 2)
    if isinstance(axes, int):
        first: Any = range(np.ndim(args[0]) - axes, np.ndim(args[0]))
        second: Any = range(axes)
    else:
        first, second = (one if isinstance(one, list | tuple) else (one,) for one in axes)
    return _over(args, tuple(a % np.ndim(args[0]) for a in first), tuple(a % np.ndim(args[1]) for a in second))


def _einsum(args: Sequence[Any]) -> Contraction | None:
    """Return an einsum of two factors in which each letter is summed over in both, or kept."""
    if len(args) != 3 or not isinstance(args[0], str):
        return None
    arrays = (args[1], args[2])
    letters = _spelt_out(args[0].replace(" ", ""), arrays)
    terms, arrow, kept = letters.partition("->")
    first, comma, second = terms.partition(",")
    if not arrow or not comma or any(len(set(term)) < len(term) for term in (first, second, kept)):
        return None
    summed = [one for one in first if one in second and one not in kept]
    if any(one not in kept and one not in summed for one in first + second):
        return None
    parallel = [one for one in kept if one in first and one in second]
    own = [[one for one in term if one not in summed and one not in parallel] for term in (first, second)]
    made = [*parallel, *own[0], *own[1]]
    product = np.einsum(f"{first},{second}->{''.join(made)}", *arrays)
    order = tuple(made.index(one) for one in kept)
    return Contraction(
        arrays,
        (_axes(first, summed), _axes(second, summed)),
        (_axes(first, parallel), _axes(second, parallel)),
        product,
        None if order == tuple(range(len(order))) else order,
        (1, 2),
    )


def in_pairs(args: Sequence[Any]) -> Any:
    """Return an einsum of more than two arrays, as einsums of two each; None for any other.

    The two whose product is smallest come first, as in attention the weights and the values before the last matrix.
    """
    if len(args) < 4 or not isinstance(args[0], str) or "->" not in args[0]:
        return None
    terms, _, kept = _spelt_out(args[0].replace(" ", ""), args[1:]).partition("->")
    left = list(zip(terms.split(","), args[1:], strict=True))
    sizes = {letter: size for term, array in left for letter, size in zip(term, np.shape(array), strict=True)}
    while len(left) > 1:
        pairs = [(_made(left, kept, *pair), pair) for pair in combinations(range(len(left)), 2)]
        made, (one, other) = min(pairs, key=lambda pair: prod(sizes[letter] for letter in pair[0]))
        (first, array), (second, another) = left[one], left[other]
        made = kept if len(left) == 2 else made
        rest = [each for place, each in enumerate(left) if place not in (one, other)]
        left = [*rest, (made, np.einsum(f"{first},{second}->{made}", array, another))]
    return left[0][1]


def _made(left: Sequence[tuple[str, Any]], kept: str, one: int, other: int) -> str:
    """Return the letters of the product of two of several factors: those that the others or the result have."""
    needed = {*kept, *(letter for place, (term, _) in enumerate(left) if place not in (one, other) for letter in term)}
    return "".join(letter for letter in dict.fromkeys(left[one][0] + left[other][0]) if letter in needed)


def _axes(term: str, letters: Sequence[str]) -> Axes:
    return tuple(term.index(one) for one in letters)


def _spelt_out(letters: str, arrays: Sequence[Array]) -> str:
    """Return the letters of an einsum with others in place of an ellipsis."""
    if "..." not in letters:
        return letters
    terms, arrow, kept = letters.partition("->")
    unused = [one for one in ascii_letters if one not in letters]
    spelt = []
    for term, array in zip(terms.split(","), arrays, strict=False):
        count = array.ndim - len(term.replace("...", ""))
        spelt.append(term.replace("...", "".join(unused[:count][::-1])))
    most = max(
        (array.ndim - len(term.replace("...", "")) for term, array in zip(terms.split(","), arrays, strict=False))
    )
    return ",".join(spelt) + arrow + kept.replace("...", "".join(unused[:most][::-1]))
