"""The choice of cases: from a law's space and what the implementation can do to descriptions of calls."""

from __future__ import annotations

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace, OwnSpace, Space
from veriformer.conformance_tests.operations.suites import suite_of


def cases(space: Space, limits: Limits) -> choices.Choice[Case]:
    """Return the choice among the cases of a space; TypeError if it has no cases."""
    space = resolved(space, limits.operation)
    if isinstance(space, NoSpace):
        raise TypeError(f"no cases are drawn from {type(space).__name__}")
    choice = suite_of(limits.operation).draw(space, limits)
    return choice.map(lambda case: limits.fixed.applied(case, space)) if limits.fixed.offered else choice


def further_cases(space: Space, limits: Limits) -> list[Case]:
    """Return the cases that a law of a space is tried on whatever else is drawn."""
    return list(suite_of(limits.operation).further(resolved(space, limits.operation), limits))


def resolved(space: Space, operation: str) -> Space:
    """Return the space itself, or in place of `OwnSpace` the operation's own."""
    return own_space(operation, extras=space.extras) if isinstance(space, OwnSpace) else space


def own_space(operation: str, *, extras: bool = True) -> Space:
    """Return the space of an operation's ordinary cases, for laws that hold of every operation."""
    return suite_of(operation).space("sometimes" if extras else "never")
