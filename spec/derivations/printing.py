"""Formulas as LaTeX, as Unicode art, and in one line: terms in their usual order, or as they were written."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr
from sympy.printing.latex import LatexPrinter
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.stringpict import prettyForm, stringPict
from sympy.printing.str import StrPrinter
from veriformer.spec.derivations.unicode_line import UnicodeLine, letter


class _Written:
    """Terms in the order in which they were written, but a number behind what it is added to."""

    def _as_ordered_terms(self, expression: Any, order: str | None = None) -> list[Expr]:
        terms = list(expression.args)
        return [*terms[1:], terms[0]] if terms[0].is_Number else terms


class _Drawing(PrettyPrinter):  # type: ignore[misc]
    """Unicode art with array entries as p[i], the names of Greek letters as letters."""

    def _print_Indexed(self, entry: Any) -> Any:  # noqa: N802  # SymPy calls it by this name
        inside = ", ".join(str(sympy.pretty(index, wrap_line=False)) for index in entry.indices)
        return prettyForm(f"{letter(str(entry.base))}[{inside}]")


class _WrittenLatex(_Written, LatexPrinter):  # type: ignore[misc]
    pass


class _WrittenDrawing(_Written, _Drawing):
    pass


class _WrittenText(_Written, StrPrinter):  # type: ignore[misc]
    pass


def as_latex(side: Any, as_written: bool = False) -> str:
    """A side of a statement in LaTeX."""
    printer = _WrittenLatex({"order": "none"}) if as_written else LatexPrinter()
    return str(printer.doprint(sympy.sympify(side)))


def in_one_line(side: Any, as_written: bool = False) -> str:
    """A side of a statement as one line of plain text."""
    printer = _WrittenText({"order": "none"}) if as_written else StrPrinter()
    return str(printer.doprint(sympy.sympify(side)))


def in_words(expression: Any) -> str:
    """An expression in running text: x², √d_k, the names of Greek letters as letters."""
    return str(UnicodeLine().doprint(expression))


def drawn(left: Any, relation: str, right: Any, as_written: bool = False) -> str:
    """Two sides and the relation between them in Unicode art, their middles on one line."""
    printer = _WrittenDrawing({"order": "none"}) if as_written else _Drawing()
    sides = [printer._print(sympy.sympify(side)) for side in (left, right)]
    picture = prettyForm(*stringPict.next(sides[0], f" {relation} ", sides[1]))
    return "\n".join(line.rstrip() for line in str(picture).splitlines())
