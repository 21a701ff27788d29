"""A step that states a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

import sympy
from veriformer.spec.derivations.differences import enclosure, rounds_to
from veriformer.spec.derivations.evaluator import Evaluator, World
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.results import CheckResult
from veriformer.spec.derivations.rules import LIMIT, Rule
from veriformer.spec.derivations.sampling import WorldSampler
from veriformer.spec.derivations.steps import Step


@dataclass(frozen=True)
class Limit(Step):
    """left → right as `variable` tends to `point` (∞, −∞, or a number from above).

    Many expressions have one limit: in the `example` the left side must round to `value`, so that it is the one meant.
    """

    variable: Any = field(default=None, kw_only=True)
    point: Any = field(default=None, kw_only=True)
    example: World = field(default_factory=World, kw_only=True)
    value: str = field(default="", kw_only=True)
    relation: ClassVar[str] = "→"

    @property
    def statement(self) -> str:
        """The statement in one line of plain text."""
        return f"{super().statement} as {self.variable} → {self.point}"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule that proves the step."""
        return (LIMIT,)

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        given = f"; at {', '.join(self.example.in_words())} the left side is {self.value}" if self.value else ""
        return f"{LIMIT.name}{given}"

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """The limit, and the value on the way to it."""
        if self.value and not rounds_to(self._in_example(), self.value):
            return CheckResult(False, 1, f"the left side is not {self.value} in the example but {self._in_example()}")
        return super().prove(normaliser)

    def _in_example(self) -> Any:
        return enclosure(self.left, self.example, self.where)

    def denominators(self) -> list[sympy.Expr]:
        """The denominators without the variable; those with it count near the point only."""
        return [each for each in super().denominators() if not each.has(self.variable)]

    def accepts(self, left: Any, right: Any, normaliser: Normaliser) -> bool:
        """Whether the computed limit of left equals right."""
        value = sympy.limit(left, self.variable, self.point)
        return bool(value == right) or bool(value.is_finite and sympy.simplify(value - right) == 0)

    def try_alterations(self, normaliser: Normaliser) -> CheckResult:
        """Other limits must be rejected; an infinite limit is altered to finite ones and to the opposite one."""
        if self.proved_right not in (sympy.oo, -sympy.oo):
            return super().try_alterations(normaliser)
        accepted = [
            other
            for other in (sympy.Integer(0), sympy.Integer(1), -self.proved_right)
            if self.accepts(self.proved_left, other, normaliser)
        ]
        detail = f"the limit is also accepted as {accepted}" if accepted else "3 altered limits are rejected"
        return CheckResult(not accepted, 3 - len(accepted), detail)

    def evaluate_at_points(self) -> CheckResult:
        """Evaluation along a sequence towards the point: the distance to the limit must shrink."""
        world = WorldSampler(self.proved_entries(), self.context, Random(self.name)).draw()
        evaluator = Evaluator(world, definitions=self.where)
        distances = []
        for parameter in self._approach():
            world.symbols[self.variable] = parameter
            distances.append(self._distance(evaluator))
        shrinks = distances[-1] <= distances[0] and distances[-1] < 1e-3
        return CheckResult(shrinks, len(distances), f"distances on the way to the limit: {distances}")

    def _approach(self) -> list[float]:
        if self.point == sympy.oo:
            return [1.0, 10.0, 100.0, 600.0, 4000.0]
        if self.point == -sympy.oo:
            return [-1.0, -10.0, -100.0, -600.0]
        return [float(self.point) + 10.0**-power for power in range(1, 8)]

    def _distance(self, evaluator: Evaluator) -> float:
        value = float(evaluator.value(self.left))
        if self.right == sympy.oo:
            return 1 / value if value > 0 else math.inf
        return abs(value - float(evaluator.value(sympy.sympify(self.right))))
