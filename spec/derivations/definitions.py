"""Statements as they are written: names with definitions, and expressions that SymPy has not evaluated yet.

A formula is printed from the very expression that a step states. The proved expression is the same one with its names
replaced by their meanings and evaluated, so that every shown formula is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Dummy, Expr, Indexed, Sum, Symbol
from veriformer.spec.derivations.expressions import DerivationError, entries


@dataclass(frozen=True)
class Definition:
    """A name and its meaning, such as p with p_i = e^(x_i)/Σ_l e^(x_l) for every i.

    `name` is the base of an array, whose entries stand for `meaning(*indices)`, or a symbol without parameters.
    """

    name: Any
    meaning: Callable[..., Expr]
    parameters: tuple[Symbol, ...] = ()

    @property
    def left(self) -> Expr:
        """The name with its parameters."""
        return self.name[self.parameters] if self.parameters else self.name

    @property
    def right(self) -> Expr:
        """Its meaning, in terms of its parameters."""
        return sympy.sympify(self.meaning(*self.parameters))

    @cached_property
    def body(self) -> tuple[tuple[Symbol, ...], Expr]:
        """Its meaning, in terms of placeholders that occur nowhere else."""
        placeholders = tuple(Dummy(str(parameter), integer=True) for parameter in self.parameters)
        return placeholders, sympy.sympify(self.meaning(*placeholders))

    def names(self, expression: Any) -> bool:
        """Whether an expression is this name, with any indices."""
        if self.parameters:
            return isinstance(expression, Indexed) and expression.base == self.name
        return bool(expression == self.name)

    def replaced(self, expression: Any, bound: frozenset[Symbol]) -> Expr:
        """The meaning of an expression that is this name; DerivationError if a sum would capture a symbol."""
        placeholders, body = self.body
        if captured := (body.free_symbols - set(placeholders)) & bound:
            raise DerivationError(f"a sum around {expression} would capture {captured}: rename its index")
        return sympy.sympify(self.meaning(*(expression.indices if placeholders else ())))


def written(build: Callable[[], Any]) -> Any:
    """Build an expression without SymPy's automatic evaluation: it is shown as it is written."""
    with sympy.evaluate(False):
        return build()


def evaluated(side: Any, definitions: Sequence[Definition] = ()) -> Any:
    """A side of a statement, its names replaced by their meanings, and evaluated from the inside out."""
    if isinstance(side, sympy.MatrixBase | sympy.MatrixExpr):
        return sympy.ImmutableMatrix(sympy.Matrix(side)).applyfunc(lambda entry: _evaluated(entry, definitions))
    return _evaluated(sympy.sympify(side), definitions)


def _evaluated(expression: Any, definitions: Sequence[Definition], bound: frozenset[Symbol] = frozenset()) -> Any:
    for definition in definitions:
        if definition.names(expression):
            return _evaluated(definition.replaced(expression, bound), definitions, bound)
    if not expression.args or isinstance(expression, sympy.IndexedBase):
        return expression
    if isinstance(expression, Sum):
        bound = bound | {index for index, _, _ in expression.limits}
    return expression.func(*[_evaluated(argument, definitions, bound) for argument in expression.args])


def is_as_built(side: Any) -> bool:
    """Whether evaluation leaves a side as it is."""
    return all(sympy.sympify(entry) == _evaluated(sympy.sympify(entry), ()) for entry in entries(side))
