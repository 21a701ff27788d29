"""Every law that can be run: each statement of the specification with the check of its topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from veriformer.conformance_tests.core.law import Law, check_of
from veriformer.conformance_tests.operations.suites import modules_of
from veriformer.spec.laws import LAWS, LawStatement


@cache
def laws() -> Mapping[str, Law]:
    """Return every law that can be run, by id; ValueError when a statement has no check."""
    # Checks are registered as their modules are imported.
    for module in modules_of("laws"):
        if hasattr(module, "__path__"):
            for part in iter_modules(module.__path__):
                import_module(f"{module.__name__}.{part.name}")
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
    found = check_of(key, operation)
    if found is None:
        raise ValueError(f"law {statement.id!r} is stated but nothing judges it")
    return Law(statement, *found)
