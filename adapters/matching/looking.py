"""How long finding out what functions are may take: as long as it takes, or until the user's budget is spent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class BudgetSpent(Exception):
    """The budget was spent before it was known which operation a function is; the sentence says so."""


@dataclass(frozen=True)
class _Until:
    budget: float
    end: float


_until: ContextVar[_Until | None] = ContextVar("until", default=None)


@contextmanager
def looking_for(seconds: float | None) -> Iterator[None]:
    """End the calls that find out what functions are after so many seconds; None for no end."""
    token = _until.set(None if seconds is None else _Until(seconds, time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def refuse_if_spent() -> None:
    """Raise BudgetSpent where the time is over."""
    until = _until.get()
    if until is not None and time.monotonic() > until.end:
        raise BudgetSpent(f"the budget of {until.budget:g} s was spent before its operation was known")
