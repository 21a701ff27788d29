"""What is sent to a worker and what comes back: both can be pickled, and refer to the implementation by its name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.ordering import most_revealing_first
from veriformer.spec.laws import LAWS

# Several for each worker, so that one whose item takes longer than expected leaves the rest to the others.
_ITEMS_PER_WORKER = 6
# A budget may end the run at any time, so that the most revealing laws of all operations have to come first.
_ITEMS_WITHIN_A_BUDGET = 24


@dataclass(frozen=True)
class Assignment:
    """What the work items of one run have in common.

    `target`: names the implementation, wherever the worker's working directory is.
    `fingerprint`: that of its files and of Veriformer, which must be the same for a worker.
    `options`: those of the run.
    `run`: distinguishes one run from the next: a file may have been edited in between.
    `deadline`: when the budget of the options is spent, by the wall clock, which processes and machines share.
    """

    target: str
    fingerprint: str
    options: RunOptions
    run: str
    deadline: float | None = None


@dataclass(frozen=True)
class WorkItem:
    """Some laws of one operation, to be tried one after the other."""

    assignment: Assignment
    laws: tuple[str, ...]

    @property
    def operation(self) -> str:
        """The operation's name."""
        return LAWS[self.laws[0]].operation.name

    def one_by_one(self) -> list[WorkItem]:
        """Return an item for each law."""
        return [WorkItem(self.assignment, (law,)) for law in self.laws]


@dataclass(frozen=True)
class ItemResults:
    """What a worker returns for an item.

    `results`: in the order in which the laws were tried.
    `findings`: the conventions of the operation.
    `failure`: why the worker could not load the implementation; empty where it could.
    `defect`: the traceback of an error of Veriformer itself; empty where there was none.
    """

    results: tuple[LawResult, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    failure: str = ""
    defect: str = ""


def divided(laws: Iterable[Law], assignment: Assignment, workers: int) -> list[WorkItem]:
    """Return work items with all laws: small operations whole, large ones in parts, those that take longest first.

    A run that ends at the first violation, or when a budget is spent, has the most revealing laws first instead.
    """
    ordered = most_revealing_first(laws)
    by_operation: dict[str, list[Law]] = {}
    for law in ordered:
        by_operation.setdefault(law.statement.operation.name, []).append(law)
    items = _ITEMS_PER_WORKER if assignment.deadline is None else _ITEMS_WITHIN_A_BUDGET
    most = sum(map(weight, ordered)) / (items * workers)
    parts = [part for its in by_operation.values() for part in _parts(its, most)]
    if assignment.deadline is not None:
        ranks = {law.id: rank for rank, law in enumerate(ordered)}
        parts.sort(key=lambda part: ranks[part[0].id])
    elif not assignment.options.fail_fast:
        parts.sort(key=_cost, reverse=True)
    return [WorkItem(assignment, tuple(law.id for law in part)) for part in parts]


def weight(law: Law) -> int:
    """Return roughly the time that a law is expected to take, in a unit of its own."""
    return suite_of(law.statement.operation.name).weight


def _parts(laws: list[Law], most: float) -> list[list[Law]]:
    """Return the laws of an operation in parts of similar cost, each expected to take at most `most`."""
    number = min(math.ceil(_cost(laws) / most), len(laws)) if most else 1
    return [laws[start::number] for start in range(number)]


def _cost(laws: list[Law]) -> int:
    return sum(map(weight, laws))
