"""Places in a pool of sizes, for frameworks that compile each."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.drawing.limits import Limits


def places_in(pool: Sequence[object], limits: Limits) -> tuple[int, ...]:
    """Return the entries that a law compiles for: the first ones, and last one that laws take in turn."""
    common = range(min(limits.pool, len(pool)))
    if limits.turn is None or limits.pool >= len(pool):
        return tuple(common)
    return (*common[:-1], limits.pool - 1 + limits.turn % (len(pool) - limits.pool + 1))
