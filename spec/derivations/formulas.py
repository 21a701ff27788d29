"""The objects of the derivations: sizes, indices, arrays, softmax and attention, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Expr, IndexedBase, Integer, Symbol, exp, sqrt
from veriformer.spec.derivations.expressions import Range, total

Entries = Callable[..., Expr]
ONE = Integer(1)


def size(name: str) -> Symbol:
    """A length or width: a positive integer without a value."""
    return Symbol(name, integer=True, positive=True)


def index(name: str) -> Symbol:
    """An index; its range is declared in the context."""
    return Symbol(name, integer=True)


def real(name: str) -> Symbol:
    """A real number."""
    return Symbol(name, real=True)


def positive(name: str) -> Symbol:
    """A positive real number."""
    return Symbol(name, positive=True)


def array(name: str) -> IndexedBase:
    """An array of real numbers."""
    return IndexedBase(name, real=True)


def up_to(length: Any) -> Range:
    """The range 1 ≤ index ≤ length."""
    return (ONE, sympy.sympify(length))


def entry_of(base: IndexedBase) -> Entries:
    """The entries of an array as a function of their indices."""
    return lambda *indices: base[indices]


def weights(logit: Entries, keys: Range, keep: Entries | None = None) -> Entries:
    """The softmax weights j ↦ keep(j) e^(logit j) / Σ_l keep(l) e^(logit l), with keep = 1 unless given."""
    shown = keep or (lambda key: ONE)
    normaliser = total(lambda key: shown(key) * exp(logit(key)), "l", keys)
    return lambda key: shown(key) * exp(logit(key)) / normaliser


def projection(tokens: Entries, weight: Entries, width: Symbol) -> Entries:
    """(i, c) ↦ Σ_b tokens(i, b) weight[b, c], every token alone."""
    return lambda token, column: total(lambda b: tokens(token, b) * weight(b, column), "b", up_to(width))


def scaled_score(query: Entries, key: Entries, width: Symbol) -> Entries:
    """(i, j) ↦ ⟨query_i, key_j⟩ / √width."""
    return lambda i, j: total(lambda c: query(i, c) * key(j, c), "c", up_to(width)) / sqrt(width)


def attention(score: Entries, value: Entries, keys: Range, keep: Entries | None = None) -> Entries:
    """(i, e) ↦ Σ_j weight(i, j) value(j, e), the weights being the softmax over the keys of the scores of row i."""

    def output(i: Expr, e: Expr) -> Expr:
        shown = None if keep is None else (lambda key: keep(i, key))
        weight = weights(lambda key: score(i, key), keys, shown)
        return total(lambda key: weight(key) * value(key, e), "j", keys)

    return output
