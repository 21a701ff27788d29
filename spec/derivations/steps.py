"""The kinds of step of a derivation. Each knows how to be proved, spot-checked, and shown not to be "
"vacuous."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import sympy
from sympy import Expr
from veriformer.spec.derivations.context import EMPTY_CONTEXT, Context
from veriformer.spec.derivations.evaluator import Evaluator
from veriformer.spec.derivations.expressions import Expectation, Variance, entries
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.perturbation import perturbations
from veriformer.spec.derivations.provers import INDEX_SUMS, Prover
from veriformer.spec.derivations.results import CheckResult, StepResult
from veriformer.spec.derivations.sampling import WorldSampler

_POINTS = 10
_POINTS_FOR_EXPECTATIONS = 4
_ATTEMPTS_PER_POINT = 40
TOLERANCE = 1e-8
_EVALUATION_ERRORS = (ZeroDivisionError, OverflowError)


@dataclass(frozen=True)
class Step:
    """An equality left = right for all values of what it leaves open, with its justification in words.

    `prover` proves it, `context` holds what is assumed, and `display` replaces the LaTeX of the whole statement where
    SymPy has already simplified a side beyond recognition.
    """

    name: str
    left: Any
    right: Any
    why: str
    prover: Prover = INDEX_SUMS
    context: Context = EMPTY_CONTEXT
    display: str | None = None
    relation: ClassVar[str] = "="

    def check(self) -> StepResult:
        """Prove, evaluate, and try to prove altered statements; failures are reported, not raised."""
        start = time.perf_counter()
        normaliser = Normaliser(self.context)
        proof = _guarded(lambda: self.prove(normaliser))
        spot_check = _guarded(self.evaluate_at_points)
        vacuity = _guarded(lambda: self.try_alterations(normaliser))
        seconds = time.perf_counter() - start
        return StepResult(self.name, self.statement, proof, spot_check, vacuity, seconds)

    @property
    def statement(self) -> str:
        """The statement in one line of plain text."""
        return f"{self.left} {self.relation} {self.right}"

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        return f"{self.prover.name} ({self.prover.rests_on})"

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """What the step takes as given, in words; what is declared but does not occur is left out."""
        sides = self._all_entries()
        symbols = {symbol for side in sides for symbol in side.free_symbols}
        relevant = dataclasses.replace(
            self.context,
            ranges={index: bounds for index, bounds in self.context.ranges.items() if index in symbols},
            bijections={pi: own for pi, own in self.context.bijections.items() if any(side.has(pi) for side in sides)},
            indicators=frozenset(base for base in self.context.indicators if any(side.has(base) for side in sides)),
        )
        return relevant.hypotheses()

    def accepts(self, left: Any, right: Any, normaliser: Normaliser) -> bool:
        """Whether the prover proves left = right, entry by entry for matrices."""
        pairs = list(zip(entries(left), entries(right), strict=True))
        return all(self.prover.proves(one, other, normaliser) for one, other in pairs)

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """The proof."""
        proved = self.accepts(self.left, self.right, normaliser)
        return CheckResult(proved, 1, self.method if proved else f"{self.prover.name} does not prove {self.statement}")

    def evaluate_at_points(self) -> CheckResult:
        """Direct evaluation of both sides in random worlds."""
        points = 0
        for evaluator in self._worlds():
            try:
                pairs = zip(entries(self.left), entries(self.right), strict=True)
                values = [tuple(map(evaluator.value, map(sympy.sympify, pair))) for pair in pairs]
            except _EVALUATION_ERRORS:
                continue
            for left, right in values:
                if not self.values_agree(float(left), float(right)):
                    sizes = {str(symbol): value for symbol, value in evaluator.world.symbols.items()}
                    return CheckResult(False, points, f"left is {left!r} and right is {right!r} at {sizes}")
            points += 1
            if points == self._wanted_points():
                return CheckResult(True, points, f"both sides agree at {points} random points")
        return CheckResult(False, points, f"only {points} random points could be evaluated")

    def values_agree(self, left: float, right: float) -> bool:
        """Whether the values stand in the step's relation, up to rounding."""
        return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)

    def try_alterations(self, normaliser: Normaliser) -> CheckResult:
        """The same prover must reject every altered right-hand side."""
        rejected = 0
        for name, altered in perturbations(self.right, self.context):
            if self.accepts(self.left, altered, normaliser):
                return CheckResult(False, rejected, f"the prover also accepts {altered} ({name})")
            rejected += 1
        if self._proved_without_hypotheses():
            return CheckResult(False, rejected, "the step is also proved without its facts and blocks: they are idle")
        return CheckResult(rejected > 0, rejected, f"{rejected} altered right-hand sides are rejected")

    def _proved_without_hypotheses(self) -> bool:
        if not self.context.facts and not self.context.blocks:
            return False
        bare = dataclasses.replace(self.context, facts={}, blocks=())
        return self.accepts(self.left, self.right, Normaliser(bare))

    def _worlds(self) -> Iterator[Evaluator]:
        sampler = WorldSampler(self._all_entries(), self.context, Random(self.name))
        for _ in range(self._wanted_points() * _ATTEMPTS_PER_POINT):
            yield Evaluator(sampler.draw())

    def _wanted_points(self) -> int:
        enumerates = any(side.has(Expectation, Variance) for side in self._all_entries())
        return _POINTS_FOR_EXPECTATIONS if enumerates else _POINTS

    def _all_entries(self) -> list[Expr]:
        return [sympy.sympify(entry) for side in (self.left, self.right) for entry in entries(side)]


def _guarded(check: Callable[[], CheckResult]) -> CheckResult:
    """A check that cannot be carried out has not passed."""
    try:
        return check()
    except (ValueError, TypeError, ArithmeticError) as error:
        return CheckResult(False, 0, f"{type(error).__name__}: {error}")
