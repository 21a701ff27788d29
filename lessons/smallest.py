"""The smallest case on which a law is broken, once more with numbers that a learner can check by hand.

The counterexample of a report is small already. Here the law is tried in float64, at the sizes found, on small integers
filled from the first seeds, and the case whose results have the fewest numbers that are no fractions is shown.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from veriformer.lessons.fractions_shown import inexact_entries

if TYPE_CHECKING:
    from veriformer.adapters.implementation import Implementation
    from veriformer.conformance_tests.core.counterexample import Counterexample
    from veriformer.conformance_tests.core.verdict import Verdict
    from veriformer.conformance_tests.search.search import Outcome, Search

_SEEDS = 12
_EXACT_DTYPE = "float64"


def readable_counterexample(implementation: Implementation, law: str, seed: int = 0) -> Counterexample | None:
    """Return a counterexample to a law in small integers and fractions; None where none is better than the report's."""
    exact = _in_float64(implementation)
    if exact is None:
        return None
    search = _search(exact, law, seed)
    found = search.run()
    if found.kind != "fails" or found.case is None:
        return None
    return search.counterexample(_most_readable(search, found))


def _in_float64(implementation: Implementation) -> Implementation | None:
    if _EXACT_DTYPE not in implementation.framework.dtypes:
        return None
    return implementation.restricted_to((_EXACT_DTYPE,))


def _search(implementation: Implementation, law: str, seed: int) -> Search:
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.conformance_tests.operations.laws import laws
    from veriformer.conformance_tests.run.options import RunOptions
    from veriformer.conformance_tests.run.runner import Run

    one = laws()[law]
    operation = one.statement.operation
    run = Run(implementation, RunOptions(Selection((operation.name,), (law,), None, "standard", seed)))
    return run.search(one, run.profile_of(operation))


def _most_readable(search: Search, found: Outcome) -> Outcome:
    """Return, of the cases at the sizes found, the one that is easiest to check by hand."""
    from veriformer.conformance_tests.drawing.space import EXACT_PALETTES

    best, case = found, found.case
    if not hasattr(case, "palette"):
        return best
    for palette, seed in product(EXACT_PALETTES, range(_SEEDS)):
        if _unread(best) == 0:
            break
        changed: Any = replace(case, palette=palette, seed=seed)  # type: ignore[type-var]
        tried = search.judge(changed)
        if tried.kind == "fails" and _unread(tried) < _unread(best):
            best = tried
    return best


def _unread(outcome: Outcome) -> int:
    """Return how many of the compared numbers are no fractions; those that are not finite count as read."""
    return 0 if outcome.verdict is None else unread_numbers(outcome.verdict)


def unread_numbers(verdict: Verdict) -> int:
    """Return how many of the expected and received numbers are no fractions of a small denominator."""
    sides = (verdict.expected, verdict.actual)
    return sum(inexact_entries(side[np.isfinite(side)]) for side in sides if not isinstance(side, str))
