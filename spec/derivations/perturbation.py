"""Altered right-hand sides. A prover that accepts one of them proves nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any

import sympy
from sympy import Dummy, Expr, Indexed, Rational
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.evaluator import Evaluator
from veriformer.spec.derivations.expressions import DerivationError, entries
from veriformer.spec.derivations.sampling import WorldSampler

_POINTS = 3


def perturbations(right: Any, context: Context) -> Iterator[tuple[str, Any]]:
    """Each alteration's name and result: constants and a symbol added, the sign changed, a leaf doubled.

    For a matrix one entry is altered. The last two are used only where evaluation shows that they change the value.
    """
    place, entry = _altered_entry(right)
    stranger = Dummy("stranger", positive=True)
    alterations: list[tuple[str, Expr]] = [
        ("1 added", entry + 1),
        ("doubled, 1/7 added", 2 * entry + Rational(1, 7)),
        ("an unrelated symbol added", entry + stranger),
    ]
    candidates = [("sign changed", -entry), *_doubled_leaf(entry)]
    alterations += [(name, other) for name, other in candidates if _values_differ(entry, other, context)]
    for name, altered in alterations:
        yield name, _with_entry(right, place, altered)


def _altered_entry(right: Any) -> tuple[int, Expr]:
    """The largest entry: where there is most to get wrong."""
    values = entries(right)
    place = max(range(len(values)), key=lambda index: values[index].count_ops())
    return place, values[place]


def _with_entry(right: Any, place: int, altered: Expr) -> Any:
    if not isinstance(right, sympy.MatrixBase):
        return altered
    values = entries(right)
    values[place] = altered
    return sympy.ImmutableMatrix(*right.shape, values)


def _doubled_leaf(entry: Expr) -> Iterator[tuple[str, Expr]]:
    """The entry with one array entry, or failing that one symbol, doubled throughout."""
    arrays = sorted(entry.atoms(Indexed), key=str)
    leaves = arrays or sorted((s for s in entry.free_symbols if s.is_Symbol and not s.is_integer), key=str)
    if leaves:
        yield f"{leaves[0]} doubled", entry.xreplace({leaves[0]: 2 * leaves[0]})


def _values_differ(one: Expr, other: Expr, context: Context) -> bool:
    sampler = WorldSampler([one, other], context, Random(7))
    for _ in range(_POINTS):
        try:
            evaluator = Evaluator(sampler.draw())
            values = [float(evaluator.value(side)) for side in (one, other)]
        except (ZeroDivisionError, OverflowError, DerivationError):
            continue
        if not math.isclose(*values, rel_tol=1e-6, abs_tol=1e-6):
            return True
    return False
