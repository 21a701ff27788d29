"""A worker that is replaced when it is lost, a limited number of times."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from veriformer.adapters.asked import NOTHING_ASKED, Asked
from veriformer.adapters.errors import (
    AdapterError,
    LoadError,
    OperationCrashed,
    OperationLost,
    OperationNotTried,
    OperationTimedOut,
)
from veriformer.adapters.isolation.frames import Frame, request
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.process import INTERFERED, WorkerLost, WorkerProcess

MOST_HANGS = 2
MOST_ENDS = 5
# First calls may take as long as compiling does, until this many of them have hung.
MOST_COMPILATIONS_AWAITED = 2
# A process that lasts for fewer calls is replaced a few times only, since each one has to import everything.
FEW_CALLS = 20
MOST_AFTER_FEW_CALLS = 3


class Supervisor:
    """Keeps a worker for one target: starts it at once, and replaces it when it is lost.

    A `process` that has loaded the target already is taken over. `looking` is how many seconds the first one may take
    to find out what the functions are, None for as many as that takes. LoadError where processes cannot be isolated
    here.
    """

    def __init__(
        self,
        target: str,
        limits: ProcessLimits,
        process: WorkerProcess | None = None,
        asked: Asked = NOTHING_ASKED,
        looking: float | None = None,
    ) -> None:
        if os.name != "posix":
            raise LoadError("isolation needs a POSIX system; run without it (--no-isolate)")
        self.target = target
        self.asked = asked
        # What was found by the first process is looked for again by the others, whatever it takes.
        self._looking = looking
        self.limits = limits
        # The number of the present worker, which does not have what an earlier one was sent.
        self.generation = 0
        self._forgotten: list[int] = []
        self._printed = ""
        self._numbers = 0
        self._hangs: Counter[str] = Counter()
        self._ends: Counter[str] = Counter()
        self._last_words: dict[str, str] = {}
        # Calls that the present process has answered.
        self.answered = 0
        self.compiles = False
        # The sizes that the present process has met; a compiler may compile again for each new one.
        self.met: set[int] = set()
        self._awaited_in_vain = 0
        self._not_survived: dict[str, str] = {}
        self._after_few_calls: Counter[str] = Counter()
        self._unloadable: LoadError | None = None
        self._loading = False
        self._process = process
        if process is None:
            self._started()
        else:
            self.generation = 1

    def next_number(self) -> int:
        """Return a number that was not returned before."""
        self._numbers += 1
        return self._numbers

    def forget(self, number: int) -> None:
        """Have the worker forget a call that is no longer needed, with the next request."""
        self._forgotten.append(number)

    def loaded(self) -> dict[str, Any]:
        """Wait until the implementation is loaded and return its worker's description.

        LoadError when loading it raised, took too long, or ended the process.
        """
        if self._unloadable is not None:
            raise self._unloadable
        process = self._started()
        if not self._loading:
            return {}
        self._loading = False
        try:
            # Timed from here: the worker is not to blame for what this process did since it was started.
            header = _answer(process.receive(self.limits.loading), 0).header
            self.compiles = header.get("compiles") is True
            # What is printed while the target is loaded is not printed by a call.
            process.forget_printed()
        except BaseException as error:
            # A compiler that an import has started must be able to remove its locks.
            process.interrupt()
            self.close()
            if not isinstance(error, WorkerLost):
                raise
            self._unloadable = _not_loaded(self.target, error, self.limits)
            raise self._unloadable from None
        return header

    def ask(self, operation: str, message: dict[str, Any], calls: int, *, first: bool = False) -> Frame:
        """Return the reply to a request that makes a number of calls of an operation.

        The `first` call of a shape may take longer, since it may be compiled.

        Raises OperationTimedOut or OperationCrashed when the worker is lost, OperationNotTried when that has happened
        too often, and LoadError when a new worker can no longer load the implementation.
        """
        self._refuse(operation)
        self.loaded()
        awaited = first and self._awaited_in_vain < MOST_COMPILATIONS_AWAITED
        seconds = calls * (max(self.limits.seconds, self.limits.compiling) if awaited else self.limits.seconds)
        process, number = self._started(), self.next_number()
        try:
            forget, self._forgotten = self._forgotten, []
            whole = {**message, "number": number, "operation": operation, "forget": forget, "seconds": seconds}
            process.send(request(whole))
            answer = _answer(process.receive(seconds), number)
            self.answered += calls if message["method"] != "arguments_now" else 0
            return answer
        except WorkerLost as lost:
            self.close()
            self._awaited_in_vain += awaited and lost.kind == "hang"
            raise self._counted(operation, lost, seconds) from None
        except BaseException:
            # An interrupted worker would answer the next question with the answer to this one.
            self.close()
            raise

    def is_as_slow(self, seconds: float, calls: int) -> bool:
        """Return whether a number of calls in a fresh process took so long that they tell nothing about the last one.

        A call that takes half of the limit here may take all of it there, on a busy machine.
        """
        return seconds > 0.5 * calls * self.limits.seconds

    def renew(self, operation: str, answered: int, lost: OperationLost | None) -> bool:
        """Replace a process that did not survive a call, if that makes sense; return whether it did.

        It does not if the process had `answered` no call, or if several processes have lasted for few calls only. A
        loss that is made good is not counted.
        """
        after_few = 0 < answered < FEW_CALLS
        if not answered or (after_few and self._after_few_calls[operation] >= MOST_AFTER_FEW_CALLS):
            return False
        self._after_few_calls[operation] += after_few
        if lost is not None:
            counter = self._hangs if isinstance(lost, OperationTimedOut) else self._ends
            counter[operation] -= 1
        self.close()
        return True

    def count(self, operation: str, lost: OperationLost) -> None:
        """Count a loss of a process by an operation."""
        counter = self._hangs if isinstance(lost, OperationTimedOut) else self._ends
        counter[operation] += 1

    def note(self, operation: str, how: str, calls: int) -> None:
        """Note what a process did not survive after a number of calls, although a fresh one did."""
        number = f"{calls:,} call{'' if calls == 1 else 's'}"
        self._not_survived.setdefault(
            operation,
            f"{operation} {how} after {number} in one process, and answers the same call in a fresh one: calls leave "
            "something behind (in memory, perhaps) that their process does not survive",
        )

    def not_survived(self, operation: str) -> str:
        """Return what a process did not survive of an operation; empty if nothing."""
        return self._not_survived.get(operation, "")

    def distrust(self, operation: str) -> AdapterError:
        """End a worker whose reply makes no sense, and return the error that says so."""
        self.close()
        return self._counted(operation, WorkerLost("end", INTERFERED), self.limits.seconds)

    def forgive(self, operation: str) -> None:
        """Reset the numbers of hangs and crashes of an operation."""
        self._hangs.pop(operation, None)
        self._ends.pop(operation, None)

    def printed(self) -> str:
        """Return the beginning of the output on stdout and stderr since the last time this was called."""
        text = self._printed + (self._process.printed() if self._process else "")
        self._printed = ""
        return text

    def close(self) -> None:
        """End the worker; another is started when it is needed."""
        if self._process is not None:
            self._printed += self._process.printed()
            self._process.close()
            self._process = None

    def _started(self) -> WorkerProcess:
        if self._process is None:
            self._process = self._new_process()
            self.answered = 0
            self.met.clear()
            self.generation += 1
            self._process.send(request({"load": self._what_to_load(), "number": 0, "seconds": self.limits.loading}))
            self._loading = True
        return self._process

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess()

    def _what_to_load(self) -> dict[str, Any]:
        """Return the arguments of the worker's request to load."""
        looking, self._looking = self._looking, None
        return {
            "target": self.target,
            "memory": self.limits.memory,
            "asked": self.asked.plain(),
            "looking": looking,
        }

    def _counted(self, operation: str, lost: WorkerLost, seconds: float) -> OperationLost:
        self._last_words[operation] = lost.last_words
        if lost.kind == "hang":
            self._hangs[operation] += 1
            return OperationTimedOut(operation, seconds, lost.last_words)
        self._ends[operation] += 1
        return OperationCrashed(operation, lost.how, lost.last_words)

    def _refuse(self, operation: str) -> None:
        hangs, ends = self._hangs[operation], self._ends[operation]
        if hangs >= MOST_HANGS:
            why = f"{hangs} calls did not return within {self.limits.seconds:g} s"
        elif ends >= MOST_ENDS:
            why = f"{ends} calls ended their process"
        else:
            return
        raise OperationNotTried(operation, why, self._last_words[operation])


def _answer(frame: Frame, number: int) -> Frame:
    """Return a reply; WorkerLost if it answers another request."""
    received = frame.header.get("number")
    # The type too: in Python, False == 0 and 1.0 == 1.
    if type(received) is not int or received != number:
        raise WorkerLost("end", INTERFERED)
    return frame


def _not_loaded(target: str, lost: WorkerLost, limits: ProcessLimits) -> LoadError:
    said = f"{target} cannot be imported: importing it {lost.how}; correct it, then run again"
    if not lost.how:
        limit = f"within {limits.loading:g} s (--import-limit allows more)"
        said = f"{target} cannot be judged: importing it, and finding out what its functions are, did not end {limit}"
    error = LoadError(said)
    error.elsewhere = lost.last_words
    return error
