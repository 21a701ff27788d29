"""Keeping what there is when an interrupt ends a loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def until_interrupted(items: Iterable[Item], *, keeps: bool) -> tuple[tuple[Item, ...], bool]:
    """Return the items, and whether an interrupt ended the loop; KeyboardInterrupt passes unless those are kept."""
    found: list[Item] = []
    try:
        for item in items:
            found.append(item)  # noqa: PERF402 - a list of all would be lost with the interrupt
    except KeyboardInterrupt:
        if not keeps:
            raise
        return tuple(found), True
    return tuple(found), False
