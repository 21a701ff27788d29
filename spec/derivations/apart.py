"""A step that states that two expressions differ for every whole number but 0, by the zeros of their difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import sympy
from sympy import Dummy, Expr, ImageSet, Symbol
from veriformer.spec.derivations.evaluator import Evaluator, World
from veriformer.spec.derivations.expressions import DerivationError
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.printing import in_words
from veriformer.spec.derivations.results import CheckResult
from veriformer.spec.derivations.rules import ZEROS, Rule
from veriformer.spec.derivations.steps import Step

_WHOLE_NUMBERS = range(1, 2001)


@dataclass(frozen=True)
class Apart(Step):
    """left ≠ 0 for every whole number `variable` but 0: every real zero of left is 0 or irrational."""

    variable: Any = field(default=None, kw_only=True)
    relation: ClassVar[str] = "≠"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule that proves the step."""
        return (ZEROS,)

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        return (
            f"{ZEROS.name} are multiples of π; all but 0 are irrational since π is, and so no whole number "
            f"{in_words(self.variable)} but 0 is one of them"
        )

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """The assumptions of the step."""
        return (*super().hypotheses, f"{in_words(self.variable)} is a whole number and not 0")

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """Every zero must be 0 or irrational."""
        proved = self.proved_right == 0 and never_zero(self.proved_left, self.variable)
        return CheckResult(proved, 1, self.method if proved else f"{self.statement} is not proved by zeros")

    def evaluate_at_points(self) -> CheckResult:
        """The difference at two thousand whole numbers and their opposites."""
        nearest = min(abs(self._difference_at(sign * place)) for place in _WHOLE_NUMBERS for sign in (1, -1))
        detail = f"at {2 * len(_WHOLE_NUMBERS)} whole numbers the sides differ by {nearest:.2g} at least"
        return CheckResult(nearest > 0, 2 * len(_WHOLE_NUMBERS), detail)

    def try_alterations(self, normaliser: Normaliser) -> CheckResult:
        """Statements that fail at some whole number must be rejected: at 1, and, with π times the variable, at all."""
        difference = self.proved_left - self.proved_right
        altered = {
            "the value at 1 subtracted": difference - difference.subs(self.variable, 1),
            "π times the variable": difference.subs(self.variable, 2 * sympy.pi * self.variable),
        }
        accepted = [name for name, other in altered.items() if never_zero(other, self.variable)]
        detail = f"the method also accepts: {', '.join(accepted)}" if accepted else "2 altered statements are rejected"
        return CheckResult(not accepted, len(altered) - len(accepted), detail)

    def _difference_at(self, place: int) -> float:
        evaluator = Evaluator(World(symbols={self.variable: place}), definitions=self.where)
        left, right = (float(evaluator.value(sympy.sympify(side))) for side in (self.left, self.right))
        return left - right


def never_zero(expression: Expr, variable: Symbol) -> bool:
    """Whether the expression is nowhere 0 on the whole numbers but 0; False means only that this method fails."""
    real = Dummy(str(variable), real=True)
    try:
        zeros = sympy.solveset(expression.xreplace({variable: real}), real, sympy.S.Reals)
        return all(_without_whole_numbers(family) for family in _families(zeros))
    except (DerivationError, NotImplementedError):
        return False


def _families(zeros: Any) -> list[Any]:
    families = list(zeros.args) if isinstance(zeros, sympy.Union) else [zeros]
    if not all(isinstance(family, ImageSet) and family.base_sets == (sympy.S.Integers,) for family in families):
        raise DerivationError(f"the zeros {zeros} are no families over the whole numbers")
    return families


def _without_whole_numbers(family: ImageSet) -> bool:
    """Whether a zero of the family is irrational unless it is 0."""
    (name,) = family.lamda.variables
    counted = sympy.factor(family.lamda.expr.xreplace({name: Symbol("n", integer=True)}))
    multiple = sympy.cancel(counted / sympy.pi)
    return bool(multiple.is_rational) and bool(sympy.pi.is_irrational)
