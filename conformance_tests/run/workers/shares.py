"""What is sent to a worker and what comes back: both can be pickled, and know no implementation but by its name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from veriformer.conformance_tests.conventions.inference import Finding
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.ordering import most_revealing_first
from veriformer.conformance_tests.run.workers.weights import weight
from veriformer.spec.laws import LAWS

# Several for each worker, so that one whose share takes longer than expected leaves the rest to the others.
_SHARES_PER_WORKER = 6
# Where a budget may end the run in the middle: the most revealing laws of all operations are to come first.
_SHARES_WITHIN_A_BUDGET = 24


@dataclass(frozen=True)
class Assignment:
    """What the shares of one run have in common.

    `target` names the implementation wherever the worker's working directory is; `fingerprint` is that of its files
    and of Veriformer, which a worker must have alike. `run` tells one run from the next: a file may have been edited
    in between. The budget of the `options` ends at the `deadline`, by the day's clock,
    which processes and machines have in common.
    """

    target: str
    fingerprint: str
    options: RunOptions
    run: str
    deadline: float | None = None


@dataclass(frozen=True)
class Share:
    """Some laws of one operation, to be tried one after the other."""

    assignment: Assignment
    laws: tuple[str, ...]

    @property
    def operation(self) -> str:
        """The operation's name."""
        return LAWS[self.laws[0]].operation.name

    def one_by_one(self) -> list[Share]:
        """Return a share for each law."""
        return [Share(self.assignment, (law,)) for law in self.laws]


@dataclass(frozen=True)
class Returned:
    """What came of a share: results in the order tried, and what was found out about the operation.

    `failure` is why the worker could not load the implementation, empty where it could; `defect` is the traceback of
    an error of Veriformer itself.
    """

    results: tuple[LawResult, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    failure: str = ""
    defect: str = ""


def divided(laws: Iterable[Law], assignment: Assignment, workers: int) -> list[Share]:
    """Return shares of all laws: small operations whole, large ones in parts, those that take longest first.

    A run that ends at the first violation, or when a budget is spent, has the most revealing laws first instead.
    """
    ordered = most_revealing_first(laws)
    by_operation: dict[str, list[Law]] = {}
    for law in ordered:
        by_operation.setdefault(law.statement.operation.name, []).append(law)
    shares = _SHARES_PER_WORKER if assignment.deadline is None else _SHARES_WITHIN_A_BUDGET
    most = sum(map(weight, ordered)) / (shares * workers)
    parts = [part for its in by_operation.values() for part in _parts(its, most)]
    if assignment.deadline is not None:
        ranks = {law.id: rank for rank, law in enumerate(ordered)}
        parts.sort(key=lambda part: ranks[part[0].id])
    elif not assignment.options.fail_fast:
        parts.sort(key=_cost, reverse=True)
    return [Share(assignment, tuple(law.id for law in part)) for part in parts]


def _parts(laws: list[Law], most: float) -> list[list[Law]]:
    """Return the laws of an operation in parts of like cost, none of which is expected to take longer than `most`."""
    number = min(math.ceil(_cost(laws) / most), len(laws)) if most else 1
    return [laws[start::number] for start in range(number)]


def _cost(laws: list[Law]) -> int:
    return sum(map(weight, laws))
