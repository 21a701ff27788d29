"""A step that states that two expressions differ, by exhibiting an example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import mpmath
import sympy
from veriformer.spec.derivations.arithmetic import INTERVALS
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.evaluator import Evaluator, World
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.printing import in_one_line
from veriformer.spec.derivations.results import CheckResult
from veriformer.spec.derivations.rules import EXAMPLE, Rule
from veriformer.spec.derivations.steps import Step
from veriformer.spec.derivations.unicode_line import SUPERSCRIPTS

_DIGITS_OF_WHOLE_NUMBERS = 12


@dataclass(frozen=True)
class Difference(Step):
    """left ≠ right, exhibited: an example in which exact enclosures of the two values are disjoint.

    A failure to prove left = right refutes nothing; two values that differ do. If `values` are given, the two sides
    must round to them: they are the values in the justification.
    """

    example: World = field(default_factory=World, kw_only=True)
    values: tuple[str, ...] = field(default=(), kw_only=True)
    relation: ClassVar[str] = "≠"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule that proves the step."""
        return (EXAMPLE,)

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        left, right = (_shown(self._enclosure(side)) for side in (self.left, self.right))
        return f"{EXAMPLE.name}: the left side is {left}, the right side {right}"

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """The data of the example that occur in the step."""
        parts = [sympy.sympify(part) for part in (self.left, self.right, *(each.right for each in self.where))]
        return self.example.of(parts).in_words()

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """Evaluate both sides in interval arithmetic; the enclosures must be disjoint."""
        for side, value in zip((self.left, self.right), self.values, strict=bool(self.values)):
            if not rounds_to(self._enclosure(side), value):
                return CheckResult(False, 1, f"{in_one_line(side)} is not {value} in the example: {self.method}")
        proved = self._disjoint(self.left, self.right)
        detail = self.method if proved else f"both sides may be equal in the example: {self.method}"
        return CheckResult(proved, 1, detail)

    def evaluate_at_points(self) -> CheckResult:
        """The floating-point values must lie at the enclosures and differ."""
        evaluators = [Evaluator(self.example.copy(), definitions=self.where) for _ in range(2)]
        values = [float(one.value(side)) for one, side in zip(evaluators, (self.left, self.right), strict=True)]
        centres = [float(mpmath.mpf(self._enclosure(side).mid)) for side in (self.left, self.right)]
        agree = all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-12) for pair in zip(values, centres, strict=True))
        passed = agree and values[0] != values[1]
        return CheckResult(passed, 1, f"direct evaluation gives {values[0]!r} and {values[1]!r}")

    def try_alterations(self, normaliser: Normaliser) -> CheckResult:
        """The method must not find a difference where there is none."""
        for side in (self.left, self.right):
            rewritten = sympy.expand((side + 1) ** 2) - side**2 - side
            if self._disjoint(side + 1 + side, rewritten + side):
                return CheckResult(False, 0, f"the method also distinguishes {side} from itself")
        return CheckResult(True, 2, "2 equal pairs are not mistaken for different ones")

    def _enclosure(self, side: Any) -> Any:
        return enclosure(side, self.example, self.where)

    def _disjoint(self, left: Any, right: Any) -> bool:
        one, other = self._enclosure(left), self._enclosure(right)
        return bool(one.b < other.a or other.b < one.a)


def enclosure(side: Any, example: World, definitions: Sequence[Definition] = ()) -> Any:
    """The value of a side in an example, in interval arithmetic."""
    return mpmath.iv.mpf(Evaluator(example.copy(), INTERVALS, definitions).value(sympy.sympify(side)))


def rounds_to(enclosed: Any, value: str) -> bool:
    """Whether every number of the enclosure rounds to the decimals shown; without decimals it must be that number."""
    decimals = -int(Decimal(value).as_tuple().exponent)
    allowed = mpmath.iv.mpf(10) ** -decimals / 2 if decimals else mpmath.iv.mpf(10) ** -_DIGITS_OF_WHOLE_NUMBERS
    distance = abs(enclosed - mpmath.iv.mpf(value))
    return bool(distance.b <= allowed.b)


def _shown(enclosure: Any) -> str:
    digits, _, exponent = str(mpmath.nstr(mpmath.mpf(enclosure.mid), 10)).removesuffix(".0").partition("e")
    power = f" · 10{exponent.translate(SUPERSCRIPTS)}" if exponent else ""
    return digits.replace("-", "−") + power
