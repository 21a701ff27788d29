"""The kinds of step of a derivation. Each knows how to be proved, spot-checked, and shown not to be vacuous."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, ClassVar

import sympy
from sympy import Expr
from veriformer.spec.derivations.context import EMPTY_CONTEXT, Context, signs_in_words
from veriformer.spec.derivations.definitions import Definition, evaluated, is_as_built
from veriformer.spec.derivations.denominators import denominators_of, nonzero_in_words
from veriformer.spec.derivations.evaluator import Evaluator
from veriformer.spec.derivations.expressions import Expectation, Variance, entries
from veriformer.spec.derivations.guard import OutOfTimeError, processor_limit
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.perturbation import perturbations
from veriformer.spec.derivations.printing import in_one_line
from veriformer.spec.derivations.provers import INDEX_SUMS, Prover
from veriformer.spec.derivations.results import CheckResult, StepResult
from veriformer.spec.derivations.rules import EVALUATION, Rule
from veriformer.spec.derivations.sampling import WorldSampler

_POINTS = 10
_POINTS_FOR_EXPECTATIONS = 4
_ATTEMPTS_PER_POINT = 40
TOLERANCE = 1e-8
_EVALUATION_ERRORS = (ZeroDivisionError, OverflowError)


@dataclass(frozen=True)
class Step:
    """An equality left = right for all values of what it leaves open, with its justification in words.

    `prover` proves it, `context` holds what is assumed, `where` what the names stand for that both sides use. The sides
    are printed as they stand; `proved_left` and `proved_right` are the same, evaluated and without names. No law rests
    on an `optional` step.
    """

    name: str
    left: Any
    right: Any
    why: str
    prover: Prover = INDEX_SUMS
    context: Context = EMPTY_CONTEXT
    where: tuple[Definition, ...] = ()
    optional: bool = field(default=False, kw_only=True)
    relation: ClassVar[str] = "="

    def check(self, limit: float | None = None) -> StepResult:
        """Prove, evaluate, and try to prove altered statements; failures are reported, not raised.

        Unfinished checks have failed after `limit` seconds of processor time.
        """
        start = time.process_time()
        normaliser = Normaliser(self.context)
        checks = (
            lambda: self.prove(normaliser),
            self.evaluate_at_points,
            lambda: self.try_alterations(normaliser),
        )
        proof, spot_check, vacuity = _within(limit, checks)
        seconds = time.process_time() - start
        return StepResult(self.name, self.statement, proof, spot_check, vacuity, seconds)

    @property
    def statement(self) -> str:
        """The statement in one line of plain text."""
        left, right = (in_one_line(side, self.as_written) for side in (self.left, self.right))
        return f"{left} {self.relation} {right}"

    @cached_property
    def proved_left(self) -> Any:
        """The left side as the prover gets it: evaluated, names replaced by their meanings."""
        return evaluated(self.left, self.where)

    @cached_property
    def proved_right(self) -> Any:
        """The right side as the prover gets it."""
        return evaluated(self.right, self.where)

    @property
    def as_written(self) -> bool:
        """Whether terms are printed in the order in which they were written, since a side is not evaluated."""
        return not (is_as_built(self.left) and is_as_built(self.right))

    @property
    def holds_by_evaluation(self) -> bool:
        """Whether evaluation alone makes both sides one expression, so that nothing is left to prove."""
        return self.relation == "=" and bool(self.proved_left == self.proved_right)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that prove the step."""
        return (EVALUATION if self.holds_by_evaluation else Rule(self.prover.name, self.prover.rests_on),)

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        return f"{self.rules[0].name} ({self.rules[0].rests_on})"

    @property
    def short_method(self) -> str:
        """The same without what the rule rests on."""
        return self.method.removesuffix(f" ({self.rules[0].rests_on})")

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """The assumptions of the step, in words; declarations that do not occur in it are omitted."""
        sides = self.proved_entries()
        symbols = {symbol for side in sides for symbol in side.free_symbols}
        relevant = dataclasses.replace(
            self.context,
            ranges={index: bounds for index, bounds in self.context.ranges.items() if index in symbols},
            bijections={pi: own for pi, own in self.context.bijections.items() if any(side.has(pi) for side in sides)},
            indicators=frozenset(base for base in self.context.indicators if any(side.has(base) for side in sides)),
            families=tuple(own for own in self.context.families if any(side.has(own.base) for side in sides)),
        )
        signs = signs_in_words([*sides, *map(sympy.sympify, relevant.parametrisation.values())])
        return (*relevant.hypotheses(), *signs, *nonzero_in_words(self.denominators(), relevant))

    def denominators(self) -> list[Expr]:
        """The denominators of the two sides."""
        return list(denominators_of(self.proved_entries()))

    def accepts(self, left: Any, right: Any, normaliser: Normaliser) -> bool:
        """Whether the prover proves left = right, entry by entry for matrices."""
        pairs = list(zip(entries(left), entries(right), strict=True))
        return all(self.prover.proves(one, other, normaliser) for one, other in pairs)

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """The proof."""
        proved = self.accepts(self.proved_left, self.proved_right, normaliser)
        return CheckResult(proved, 1, self.method if proved else f"{self.prover.name} does not prove {self.statement}")

    def evaluate_at_points(self) -> CheckResult:
        """Direct evaluation of both sides as they are written, names and all, in random worlds."""
        points = 0
        written = self.written_entries()
        pairs = list(zip(written[: len(written) // 2], written[len(written) // 2 :], strict=True))
        for evaluator in self._worlds():
            try:
                values = [tuple(map(evaluator.value, pair)) for pair in pairs]
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
        """The same prover must reject every altered right-hand side; a step that reads x = x states nothing."""
        if entries(self.left) == entries(self.right):
            return CheckResult(False, 0, "both sides are written alike: the step states nothing")
        rejected = 0
        for name, altered in perturbations(self.proved_right, self.context):
            if self.accepts(self.proved_left, altered, normaliser):
                return CheckResult(False, rejected, f"the prover also accepts {altered} ({name})")
            rejected += 1
        if self._proved_without_hypotheses():
            detail = "the step is also proved without one of its facts, blocks or splits, or with a wider constraint"
            return CheckResult(False, rejected, f"{detail}: what is assumed is idle")
        return CheckResult(rejected > 0, rejected, f"{rejected} altered right-hand sides are rejected")

    def _proved_without_hypotheses(self) -> bool:
        """Whether the step is proved without a fact, block or split too, or with a wider constraint."""
        return any(self.accepts(self.proved_left, self.proved_right, Normaliser(fewer)) for fewer in self._weaker())

    def _weaker(self) -> Iterator[Context]:
        own = self.context
        for fact in own.facts:
            yield dataclasses.replace(own, facts={key: value for key, value in own.facts.items() if key != fact})
        for block in own.blocks:
            yield dataclasses.replace(own, blocks=tuple(other for other in own.blocks if other != block))
        for split in own.splits:
            yield dataclasses.replace(own, splits={key: value for key, value in own.splits.items() if key != split})
        # A fact holds because of the constraint: steps that use it do not change with the constraint.
        for symbol, value in own.parametrisation.items():
            whole = all(each.is_integer for each in value.free_symbols)
            if whole and not own.facts and value.as_coeff_Add()[0].is_positive:
                yield dataclasses.replace(own, parametrisation={**own.parametrisation, symbol: value - 1})

    def _worlds(self) -> Iterator[Evaluator]:
        stated = [*self.written_entries(), *(definition.right for definition in self.where)]
        sampler = WorldSampler([*self.proved_entries(), *stated], self.context, Random(self.name))
        for _ in range(self._wanted_points() * _ATTEMPTS_PER_POINT):
            yield Evaluator(sampler.draw(), definitions=self.where)

    def _wanted_points(self) -> int:
        enumerates = any(side.has(Expectation, Variance) for side in self.proved_entries())
        return _POINTS_FOR_EXPECTATIONS if enumerates else _POINTS

    def written_entries(self) -> list[Expr]:
        """The entries of both sides as they are written: those of the left, then those of the right."""
        return [sympy.sympify(entry) for side in (self.left, self.right) for entry in entries(side)]

    def proved_entries(self) -> list[Expr]:
        """The entries of both sides as the prover gets them."""
        return [sympy.sympify(entry) for side in (self.proved_left, self.proved_right) for entry in entries(side)]


def _within(limit: float | None, checks: Sequence[Callable[[], CheckResult]]) -> list[CheckResult]:
    """The results of the checks; those that the limit cuts off have failed."""
    results = [CheckResult(False, 0, f"not done within the limit of {limit} s of processor time") for _ in checks]
    try:
        with processor_limit(limit):
            for place, check in enumerate(checks):
                results[place] = _guarded(check)
    except OutOfTimeError:
        pass
    return results


def _guarded(check: Callable[[], CheckResult]) -> CheckResult:
    """A check that cannot be carried out has not passed."""
    try:
        return check()
    except Exception as error:  # SymPy may raise any exception
        return CheckResult(False, 0, f"{type(error).__name__}: {error}")
