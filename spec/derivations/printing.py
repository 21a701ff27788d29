"""Formulas as LaTeX and in one line: terms in their usual order, or as they were written."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr
from sympy.printing.latex import LatexPrinter
from veriformer.pictures.formulas import one_line
from veriformer.spec.derivations.unicode_line import UnicodeLine


class _WrittenLatex(LatexPrinter):  # type: ignore[misc]
    """Terms in the order in which they were written, but a number behind what it is added to."""

    def _as_ordered_terms(self, expression: Any, order: str | None = None) -> list[Expr]:
        terms = list(expression.args)
        return [*terms[1:], terms[0]] if terms[0].is_Number else terms


def as_latex(side: Any, as_written: bool = False) -> str:
    """A side of a statement in LaTeX."""
    printer = _WrittenLatex({"order": "none"}) if as_written else LatexPrinter()
    return str(printer.doprint(sympy.sympify(side)))


def in_one_line(side: Any, as_written: bool = False) -> str:
    """A side of a statement as one line of Unicode."""
    return one_line(as_latex(side, as_written))


def in_words(expression: Any) -> str:
    """An expression in running text: x², √d_k, the names of Greek letters as letters."""
    return str(UnicodeLine().doprint(expression))
