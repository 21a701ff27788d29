"""Handing out the laws of a run to a crew, and putting together what comes back."""

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
from veriformer.conformance_tests.run.applicability import not_declared
from veriformer.conformance_tests.run.pace import Progress
from veriformer.conformance_tests.run.runner import Run
from veriformer.conformance_tests.run.workers.crew import Crew, Ended
from veriformer.conformance_tests.run.workers.errors import NotSendable, WorkerDefect
from veriformer.conformance_tests.run.workers.executors import ExecutorCrew
from veriformer.conformance_tests.run.workers.processes import Workers
from veriformer.conformance_tests.run.workers.shares import Assignment, Returned, Share, divided
from veriformer.spec.laws import LAWS, LawStatement

# One death may be an accident: whatever killed the process may not have meant the law.
_MOST_DEATHS = 2


@contextmanager
def crew_of(workers: int, executor: Executor | Crew | None) -> Iterator[Crew]:
    """Give who tries the laws: an executor, which stays as it is, or so many new processes, which end afterwards."""
    if executor is None:
        with Workers(workers) as crew:
            yield crew
    elif isinstance(executor, Executor):
        yield ExecutorCrew(executor)
    else:
        yield executor


class Sharing:
    """One way for a run to try its laws: by a crew."""

    def __init__(self, crew: Crew, target: object) -> None:
        residence = target.residence if isinstance(target, Implementation) else None
        name = target if residence is None else residence.supervisor.target
        if not isinstance(name, str):
            raise NotSendable(type(target).__name__)
        self._crew = crew
        self._target = name
        self._deaths: Counter[Share] = Counter()
        self._waiting: list[Share] = []

    def __call__(self, run: Run, laws: list[Law], total: int) -> Iterator[LawResult]:
        """Yield the results as they come; LoadError, WorkersLost or WorkerDefect where none can come."""
        name, before = run.implementation.name, total - len(laws)
        run.options.show(Progress(name, "", before, total))
        seconds, tried = 0.0, 0
        for done, result in enumerate(self._results_of(run, laws), before + 1):
            seconds, tried = seconds + result.seconds, tried + (result.seconds > 0)
            forecast = run.pace.forecast_shared(seconds, tried, total - done, self._crew.size)
            run.options.show(Progress(name, result.law.id, done, total, forecast))
            yield result

    def _results_of(self, run: Run, laws: list[Law]) -> Iterator[LawResult]:
        declared = []
        for law in laws:
            if not_declared(run.implementation, law):
                # That takes no time, and needs nobody.
                yield run.try_law(law)
            else:
                declared.append(law)
        self._waiting = divided(declared, self._assignment(run), self._crew.size)
        try:
            yield from self._returned(run)
        finally:
            self._crew.abandon()

    def _returned(self, run: Run) -> Iterator[LawResult]:
        begun = 0
        while begun or self._waiting:
            if run.pace.is_spent():
                yield from (run.pace.untried(law) for law in self._given_up())
                if not begun:
                    return
            while self._waiting and self._crew.has_room:
                self._crew.begin(self._waiting)
                begun += 1
            ended = self._crew.wait()
            begun -= 1
            yield from self._results(run, ended)

    def _given_up(self) -> list[LawStatement]:
        """Return the laws that nobody has begun, which wait no longer."""
        waiting, self._waiting = self._waiting, []
        return [LAWS[identifier] for share in waiting for identifier in share.laws]

    def _results(self, run: Run, ended: Ended) -> Iterator[LawResult]:
        if ended.returned is None:
            return self._died(run, ended)
        run.findings.update(_checked(ended.returned).findings)
        # The statement that came is a copy; here there is one of each.
        return (replace(result, law=LAWS[result.law.id]) for result in ended.returned.results)

    def _died(self, run: Run, ended: Ended) -> Iterator[LawResult]:
        """Let a share be tried again, after its second death law by law; yield the error of a law that kills alone."""
        share = ended.share
        self._deaths[share] += 1
        if self._deaths[share] < _MOST_DEATHS:
            self._waiting.insert(0, share)
        elif len(share.laws) > 1:
            self._waiting[:0] = share.one_by_one()
        else:
            statement = LAWS[share.laws[0]]
            run.deadly.add(statement.operation.name)
            reason = f"the process that tried it ended without a result, {_MOST_DEATHS} times ({ended.how})"
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


def _checked(returned: Returned) -> Returned:
    """Return what came, or raise what kept the worker from trying anything."""
    if returned.failure:
        raise LoadError(f"a worker cannot load the implementation: {returned.failure}")
    if returned.defect:
        raise WorkerDefect(f"in a worker:\n{returned.defect}")
    return returned


def _wherever(target: str, implementation: Implementation) -> str:
    """Return a target's name with the whole path of its file: a worker may have another working directory."""
    place, colon, within = target.partition(":")
    path = Path(place).expanduser().resolve()
    return f"{path}{colon}{within}" if str(path) in implementation.files else target
