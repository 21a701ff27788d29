"""Handing out the laws of a run to a worker pool, and putting together what comes back."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.core.fingerprint import fingerprint
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.run.applicability import declared, not_declared
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.pace import Progress
from veriformer.conformance_tests.run.runner import Run
from veriformer.conformance_tests.run.workers.errors import NotSendable, WorkerDefect
from veriformer.conformance_tests.run.workers.executors import ExecutorPool
from veriformer.conformance_tests.run.workers.pool import Finished, WorkerPool
from veriformer.conformance_tests.run.workers.processes import ProcessPool
from veriformer.conformance_tests.run.workers.work_items import Assignment, ItemResults, WorkItem, divided
from veriformer.spec.laws import LAWS, LawStatement

# One death may be an accident that has nothing to do with the law.
_MOST_DEATHS = 2


@contextmanager
def pool_of(options: RunOptions) -> Iterator[WorkerPool]:
    """Yield the pool that tries the laws: an executor, which stays open, or new processes, which end afterwards."""
    if options.executor is None:
        with ProcessPool(options.workers) as pool:
            yield pool
    elif isinstance(options.executor, Executor):
        yield ExecutorPool(options.executor)
    else:
        yield options.executor


class Distribution:
    """One way for a run to try its laws: by a worker pool."""

    def __init__(self, pool: WorkerPool, target: object) -> None:
        residence = target.residence if isinstance(target, Implementation) else None
        name = target if residence is None else residence.supervisor.target
        if not isinstance(name, str):
            raise NotSendable(type(target).__name__)
        self._pool = pool
        self._target = name
        self._deaths: Counter[WorkItem] = Counter()
        self._waiting: list[WorkItem] = []

    def __call__(self, run: Run, laws: list[Law], total: int) -> Iterator[LawResult]:
        """Yield the results as they come; LoadError, WorkersLost or WorkerDefect where none can come."""
        # What is not declared takes no time, and no worker.
        yield from (run.try_law(law) for law in laws if not_declared(run.implementation, law))
        shared = declared(run.implementation, laws)
        name, before = run.implementation.name, total - len(shared)
        run.options.show(Progress(name, "", before, total))
        seconds, tried = 0.0, 0
        for done, result in enumerate(self._results_of(run, shared), before + 1):
            seconds, tried = seconds + result.seconds, tried + (result.seconds > 0)
            forecast = run.pace.forecast_shared(seconds, tried, total - done, self._pool.size)
            run.options.show(Progress(name, result.law.id, done, total, forecast))
            yield result

    def _results_of(self, run: Run, laws: list[Law]) -> Iterator[LawResult]:
        self._waiting = divided(laws, self._assignment(run), self._pool.size)
        try:
            yield from self._returned(run)
        finally:
            self._pool.abandon()

    def _returned(self, run: Run) -> Iterator[LawResult]:
        submitted = 0
        while submitted or self._waiting:
            if run.pace.is_spent():
                yield from (run.pace.untried(law) for law in self._given_up())
                if not submitted:
                    return
            while self._waiting and self._pool.has_room:
                self._pool.submit_one(self._waiting)
                submitted += 1
            finished = self._pool.wait()
            submitted -= 1
            yield from self._results(run, finished)

    def _given_up(self) -> list[LawStatement]:
        """Return the laws that no worker has begun, and stop waiting for them."""
        waiting, self._waiting = self._waiting, []
        return [LAWS[identifier] for item in waiting for identifier in item.laws]

    def _results(self, run: Run, finished: Finished) -> Iterator[LawResult]:
        if finished.results is None:
            return self._died(run, finished)
        run.findings.update(_checked(finished.results).findings)
        # The statement that came is a copy; here there is one of each.
        return (replace(result, law=LAWS[result.law.id]) for result in finished.results.results)

    def _died(self, run: Run, finished: Finished) -> Iterator[LawResult]:
        """Have an item tried again, after its second death law by law; yield the error of a law that kills alone."""
        item = finished.item
        self._deaths[item] += 1
        if self._deaths[item] < _MOST_DEATHS:
            self._waiting.insert(0, item)
        elif len(item.laws) > 1:
            self._waiting[:0] = item.one_by_one()
        else:
            statement = LAWS[item.laws[0]]
            run.deadly.add(statement.operation.name)
            reason = f"the process that tried it ended without a result, {_MOST_DEATHS} times ({finished.how})"
            yield LawResult(statement, "error", reason=reason)

    def _assignment(self, run: Run) -> Assignment:
        residence = run.implementation.residence
        return Assignment(
            target=_wherever(self._target, run.implementation),
            fingerprint=fingerprint(run.implementation),
            options=run.options.for_worker(None if residence is None else residence.supervisor.limits),
            run=uuid.uuid4().hex,
            deadline=run.pace.deadline,
        )


def _checked(results: ItemResults) -> ItemResults:
    """Return what came, or raise what kept the worker from trying anything."""
    if results.failure:
        raise LoadError(f"a worker cannot load the implementation: {results.failure}")
    if results.defect:
        raise WorkerDefect(f"in a worker:\n{results.defect}")
    return results


def _wherever(target: str, implementation: Implementation) -> str:
    """Return a target's name with the whole path of its file: a worker may have another working directory."""
    place, colon, within = target.partition(":")
    path = Path(place).expanduser().resolve()
    return f"{path}{colon}{within}" if str(path) in implementation.files else target
