"""The verdict on an example, recomputed from what is printed and what is exact."""

from __future__ import annotations

from dataclasses import dataclass

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Exact
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import Printed, PrintedNumber
from veriformer.spec.worked_examples.verdict import Verdict

_WORKING_DIGITS = 60
_SAME = sympy.Float("1e-45", _WORKING_DIGITS)


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the coarsest unit to which the printed numbers are rounded where they are."""

    verdict: Verdict
    unit: sympy.Rational | None = None


def judge(example: WorkedExample) -> Judgement:
    """Return the verdict that follows from the example's printed and exact values.

    Raises ValueError when an example with `otherwise` holds there too, so that its condition is idle.
    """
    if example.printed is None:
        return Judgement(Verdict.NOT_GIVEN)
    direct = compare(example.printed, example.exact)
    if example.otherwise is None or direct.verdict is Verdict.WRONG:
        return direct
    if compare(example.printed, example.otherwise).verdict is not Verdict.WRONG:
        raise ValueError(f"{example.id} holds without its condition {example.condition!r}; remove the condition")
    return Judgement(Verdict.CONDITIONAL, direct.unit)


def compare(printed: Printed, exact: Exact) -> Judgement:
    """Return the worst verdict over all entries; ValueError when the shapes differ."""
    if isinstance(printed, PrintedNumber) and not isinstance(exact, tuple):
        return _compare_number(printed, exact)
    if isinstance(printed, PrintedNumber) or not isinstance(exact, tuple) or len(exact) != len(printed):
        raise ValueError(f"printed and exact values must have one shape; received {printed} and {exact}")
    parts = [compare(left, right) for left, right in zip(printed, exact, strict=True)]
    for verdict in (Verdict.WRONG, Verdict.ROUNDED):
        if any(part.verdict is verdict for part in parts):
            units = [part.unit for part in parts if part.unit is not None and verdict is Verdict.ROUNDED]
            return Judgement(verdict, max(units, default=None))
    return Judgement(Verdict.CORRECT)


def _compare_number(printed: PrintedNumber, exact: sympy.Basic) -> Judgement:
    if is_equal(printed.value, exact):
        return Judgement(Verdict.CORRECT)
    if printed.unit is None or not exact.is_finite:
        return Judgement(Verdict.WRONG)
    distance = abs(sympy.N(exact - printed.value, _WORKING_DIGITS))
    if distance <= printed.unit / 2:
        return Judgement(Verdict.ROUNDED, printed.unit)
    return Judgement(Verdict.WRONG)


def is_equal(left: sympy.Basic, right: sympy.Basic) -> bool:
    """Return whether two exact values are equal; ArithmeticError when neither can be proved."""
    if left == right:
        return True
    if any(isinstance(value, sympy.logic.boolalg.Boolean) or value.is_infinite for value in (left, right)):
        return False
    difference = left - right
    if not difference.free_symbols and abs(sympy.N(difference, _WORKING_DIGITS)) > _SAME:
        return False
    if sympy.simplify(difference) == 0:
        return True
    if difference.free_symbols:
        return False
    raise ArithmeticError(f"{left} and {right} agree to {_WORKING_DIGITS} digits but were not proved equal")
