"""Whether a choice is a mistake by itself: a program that makes it, and no other, breaks a law of those tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.conventions.standing import others_standing
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import BATCHES, EXAMPLES
from veriformer.conformance_tests.diagnosis.elimination import is_convention, is_harmless, mistake_of
from veriformer.conformance_tests.diagnosis.interface_laws import is_interface_law
from veriformer.conformance_tests.diagnosis.pairs import Changes
from veriformer.conformance_tests.diagnosis.unexplained_laws import FormulaAsSubject
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.search.search import Search
from veriformer.conformance_tests.variants import Point

# Laws are tried under so many combinations of values of conventions that the mistakes keep from being known.
_MOST_STANDING = 6


@dataclass
class ByItself:
    """The choices around `base`, each alone in a program, and the laws of `results` tried on it."""

    profile: Profile
    results: Sequence[LawResult]
    limits: Limits
    base: Point
    _known: dict[Changes, bool] = field(default_factory=dict)

    def mistakes(self, changes: Changes, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of the names of mistakes among the changes that are wrong by themselves; all where none is."""
        if len(names) < 2:
            return tuple(names)
        wrong = tuple(name for name in names if not self._is_harmless(self._alone(changes, name)))
        return wrong or tuple(names)

    def _alone(self, changes: Changes, name: str) -> Changes:
        """Return the changes that make one mistake, with the conventions that the program follows."""
        kept = (change for change in changes if not is_harmless(self.base, change))
        return tuple(one for one in kept if mistake_of(self.base, one) == name or is_convention(self.base, one))

    def _is_harmless(self, changes: Changes) -> bool:
        """Return whether no law is broken under some values of the conventions that are not known."""
        if changes not in self._known:
            self._known[changes] = any(self._obeys_all(formula) for formula in self._formulas(changes))
        return self._known[changes]

    def _formulas(self, changes: Changes) -> Iterator[FormulaAsSubject]:
        subject, decisions = self.profile.subject, self.base.family.all_decisions
        followed = {
            decisions[name].convention: value for name, value in changes if is_convention(self.base, (name, value))
        }
        # A convention that is declared otherwise is not the program's own.
        own = {name: value for name, value in followed.items() if name is not None and not self._is_declared(name)}
        for values in islice(self._standing(), _MOST_STANDING):
            conventions = {**subject.conventions, **values, **own}
            point = self.base.changed(*self.base.changes_to(conventions), *changes)
            yield FormulaAsSubject(subject.implementation, subject.operation, conventions, point=point)

    def _is_declared(self, convention: str) -> bool:
        subject = self.profile.subject
        return subject.implementation.declared_convention(convention, subject.operation.name) is not None

    def _standing(self) -> Iterator[Mapping[str, str]]:
        yield {}
        yield from others_standing(self.profile)

    def _obeys_all(self, formula: FormulaAsSubject) -> bool:
        """Return whether a formula obeys the laws: first those that are broken, on the cases that broke them."""
        tried = [one for one in self.results if one.status in ("passed", "failed") and not is_interface_law(one.law.id)]
        broken = [one for one in tried if one.counterexample is not None and one.counterexample.case is not None]
        with np.errstate(all="ignore"):
            return all(
                self._search(formula, laws()[one.law.id]).judge(one.counterexample.case).kind != "fails"
                for one in broken
                if one.counterexample is not None
            ) and all(self._obeys(formula, laws()[one.law.id]) for one in tried)

    def _obeys(self, formula: FormulaAsSubject, law: Law) -> bool:
        if isinstance(law.space, NoSpace):
            return True
        return self._search(formula, law).run(shrink=False).kind != "fails"

    def _search(self, formula: FormulaAsSubject, law: Law) -> Search:
        limits = replace(self.limits, compiles_per_shape=False)
        return Search(law, formula, limits, limits.seed, EXAMPLES["quick"], BATCHES["quick"])
