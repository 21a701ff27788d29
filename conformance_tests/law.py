"""A law as something that can be run: its statement, the cases it is tried on, and its one assertion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from veriformer.conformance_tests.cases.spaces import Space
from veriformer.conformance_tests.trial import Trial
from veriformer.conformance_tests.verdict import Verdict
from veriformer.spec.laws import LAWS, LawStatement

Check = Callable[[Trial], Verdict]


@dataclass(frozen=True)
class Law:
    """A statement, the space its cases are drawn from, and the check that judges one case.

    A law that is not `batched` is tried on one case a call, because samples of several regimes would not be judged.
    """

    statement: LawStatement
    space: Space
    check: Check
    batched: bool = True

    @property
    def id(self) -> str:
        """The law's stable id."""
        return self.statement.id


_CHECKS: dict[tuple[str, str | None], tuple[Space, Check, bool]] = {}


def judges(
    *keys: str, space: Space, operations: tuple[str, ...] = (), batched: bool = True
) -> Callable[[Check], Check]:
    """Register a check for the properties `keys` of the named operations, or of all that have no check of their own."""

    def register(check: Check) -> Check:
        for key in keys:
            for operation in operations or (None,):
                if (key, operation) in _CHECKS:
                    raise ValueError(f"two checks for property {key!r} of {operation or 'any operation'}")
                _CHECKS[key, operation] = (space, check, batched)
        return check

    return register


@cache
def laws() -> Mapping[str, Law]:
    """Return every law that can be run, by id; ValueError when a statement has no check."""
    package = import_module("veriformer.conformance_tests.laws")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return {identifier: _bind(statement) for identifier, statement in LAWS.items()}


@cache
def turns() -> Mapping[str, int]:
    """Return the place of each law among those of its operation, by id."""
    counted = Counter[str]()
    places: dict[str, int] = {}
    for identifier, statement in LAWS.items():
        places[identifier] = counted[statement.operation.name]
        counted[statement.operation.name] += 1
    return places


def _bind(statement: LawStatement) -> Law:
    key, operation = statement.claim.key, statement.operation.name
    found = _CHECKS.get((key, operation)) or _CHECKS.get((key, None))
    if found is None:
        raise ValueError(f"law {statement.id!r} is stated but nothing judges it")
    return Law(statement, *found)
