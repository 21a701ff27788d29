"""The decisions of implementers in all families, by their names, and the operations in whose formulas they are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from veriformer.conformance_tests.operations.suites import family_of, suites
from veriformer.conformance_tests.variants.decision import Decision, Option


@dataclass(frozen=True)
class KnownDecision:
    """A decision, the operations in which it is made, and the options that some of them have, each once."""

    decision: Decision
    operations: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def name(self) -> str:
        """The decision's name, without the part of an operation that it is made in."""
        return self.decision.name


def decisions_named(name: str) -> tuple[KnownDecision, ...]:
    """Return the decisions of a name, with or without the part that they are made in; several may share one."""
    return tuple(known for known, names in _known() if name in names)


def decision_names() -> tuple[str, ...]:
    """Return the names of all decisions, each once, without the parts that they are made in."""
    return tuple(dict.fromkeys(known.name for known, _ in _known()))


def choice_names() -> Iterator[str]:
    """Yield every option of every decision as `decision=option`."""
    for known, _ in _known():
        yield from (f"{known.name}={option.name}" for option in known.options)


@cache
def _known() -> tuple[tuple[KnownDecision, frozenset[str]], ...]:
    """Return each decision with all of its names; decisions of one name that ask different questions are different."""
    found: dict[tuple[str, str], list[tuple[str, str, Decision]]] = {}
    for operation in suites():
        family = family_of(operation)
        for name, decision in family.all_decisions.items() if family is not None else ():
            found.setdefault((decision.name, decision.question), []).append((operation, name, decision))
    return tuple(
        (_together(made), frozenset({name for _, name, _ in made} | {made[0][2].name})) for made in found.values()
    )


def _together(made: list[tuple[str, str, Decision]]) -> KnownDecision:
    options = {option.name: option for _, _, decision in made for option in decision.options}
    operations = dict.fromkeys(operation for operation, _, _ in made)
    # Some formulas leave options out that cannot show there.
    whole = max((decision for _, _, decision in made), key=lambda decision: len(decision.options))
    return KnownDecision(whole, tuple(operations), tuple(options.values()))
