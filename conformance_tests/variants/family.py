"""A family: one formula with every decision of an implementer as a parameter.

A point of the family takes one option for each decision. At the standard point a family equals the reference to the
last bit; elsewhere it computes the result of other decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, Option

Arguments = Mapping[str, Any]
# A decision by its name, prefixed by the names of its parts, and the name of an option.
Change = tuple[str, str]


class NotDefined(Exception):
    """An option without a meaning for these arguments: a program with it would not run on them."""


@dataclass(frozen=True, eq=False)
class Family:
    """An operation's formula and its decisions.

    `compute` takes the arguments of a call by the interface's names and a point, and returns the result of an
    implementation at that point, in the shape of a correct result (for a tuple, its parts joined in one axis). `parts`
    are the families of the operations in the formula, by their role in it: their decisions are decisions of the whole,
    as `role.decision`. A family that `needs_dtype` gets the call's dtype among the arguments.
    """

    name: str
    decisions: tuple[Decision, ...]
    compute: Callable[[Arguments, Point], Array]
    parts: Mapping[str, Family] = field(default_factory=dict)
    needs_dtype: bool = False

    @cached_property
    def all_decisions(self) -> Mapping[str, Decision]:
        """Every decision, those of the parts included, by its name."""
        own = {decision.name: decision for decision in self.decisions}
        if len(own) != len(self.decisions):
            raise ValueError(f"two decisions of {self.name} have one name")
        of_parts = {
            f"{role}.{name}": decision
            for role, part in self.parts.items()
            for name, decision in part.all_decisions.items()
        }
        return {**own, **of_parts}

    @cached_property
    def standard_options(self) -> Mapping[str, Callable[..., Any]]:
        """The functions that the standard point calls for the decisions."""
        return {name: decision.standard.apply for name, decision in self.all_decisions.items()}

    def without(self, *names: str) -> Family:
        """Return the family as a part of a formula in which some decisions cannot go wrong. A named decision keeps only
        its standard option; `decision=option` removes one option. KeyError if there is no such decision or option.
        """
        decisions = {decision.name: decision for decision in self.decisions}
        for name in names:
            decision, _, option = name.partition("=")
            decisions[decision] = decisions[decision].without(option)
        return replace(self, decisions=tuple(decisions.values()))

    @property
    def standard(self) -> Point:
        """The point of the reference under standard conventions."""
        return Point(self)

    def under(self, conventions: Mapping[str, str]) -> Point:
        """Return the point of the reference under other conventions; values that no decision has are left out."""
        settled = {
            name: conventions[decision.convention]
            for name, decision in self.all_decisions.items()
            if decision.convention in conventions
        }
        return Point(
            self,
            {
                name: value
                for name, value in settled.items()
                if value in {option.name for option in self.all_decisions[name].options}
            },
        )


@dataclass(frozen=True, eq=False)
class Point:
    """One option for each decision of a family: those in `chosen`, the standard ones elsewhere."""

    family: Family
    chosen: Mapping[str, str] = field(default_factory=dict)
    _parts: dict[str, Point] = field(init=False, default_factory=dict)

    def __getitem__(self, decision: str) -> Callable[..., Any]:
        """Return the function to call for a decision of the family itself."""
        return self.option(decision).apply if decision in self.chosen else self.family.standard_options[decision]

    def option(self, decision: str) -> Option:
        """Return the option taken in a decision; KeyError if the family has no such decision."""
        found = self.family.all_decisions[decision]
        return found.option(self.chosen[decision]) if decision in self.chosen else found.standard

    def part(self, role: str) -> Point:
        """Return the point that a part of the family is at."""
        if role not in self._parts:
            start = f"{role}."
            inside = {name.removeprefix(start): value for name, value in self.chosen.items() if name.startswith(start)}
            self._parts[role] = Point(self.family.parts[role], inside)
        return self._parts[role]

    def changed(self, *changes: Change) -> Point:
        """Return the point that differs from this one in some decisions."""
        return Point(self.family, {**self.chosen, **dict(changes)})

    def changes_to(self, conventions: Mapping[str, str]) -> tuple[Change, ...]:
        """Return the options of this point that differ from the standard ones under these conventions."""
        decisions = self.family.all_decisions.items()
        settled = ((name, one, conventions[one.convention]) for name, one in decisions if one.convention in conventions)
        return tuple(
            (name, value)
            for name, decision, value in settled
            if value != self.option(name).name and value in {option.name for option in decision.options}
        )

    def single_changes(self) -> Iterator[Change]:
        """Yield every change of one decision that is not harmless, in the order of decisions and of their options."""
        yield from (change for change, option in self._changes() if option.status != "harmless")

    def repeated_changes(self) -> Iterator[tuple[Change, ...]]:
        """Yield the changes that make one mistake in several decisions at once, as a function that all call does."""
        together: dict[tuple[str, str], list[Change]] = {}
        for name, value in self.single_changes():
            option = self.family.all_decisions[name].option(value)
            mistake = option.slug or name.rpartition(".")[2]
            together.setdefault((mistake, option.name), []).append((name, value))
        yield from (tuple(changes) for changes in together.values() if len(changes) > 1)

    def harmless_changes(self) -> Iterator[tuple[Change, ...]]:
        """Yield the changes that are no mistakes, each alone, and those of one name in several decisions at once."""
        together: dict[str, list[Change]] = {}
        for change, option in self._changes():
            if option.status == "harmless":
                together.setdefault(option.name, []).append(change)
                yield (change,)
        yield from (tuple(changes) for changes in together.values() if len(changes) > 1)

    def _changes(self) -> Iterator[tuple[Change, Option]]:
        for name, decision in self.family.all_decisions.items():
            taken = self.option(name).name
            yield from (((name, option.name), option) for option in decision.options if option.name != taken)

    def compute(self, arguments: Arguments) -> Array:
        """Return the result of an implementation at this point; NotDefined if it would not run."""
        if not self.family.needs_dtype:
            arguments = {name: value for name, value in arguments.items() if name != "dtype"}
        with np.errstate(all="ignore"):
            return np.asarray(self.family.compute(arguments, self), dtype=np.float64)

    def result(self, arguments: Arguments) -> Array:
        """Return the same for a formula that this family is a part of, which has seen to warnings."""
        return self.family.compute(arguments, self)
