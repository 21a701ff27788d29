"""Worker processes of this machine, each with a pipe of its own.

A pool that is shared would not tell which share a process died over, and one that is killed while it sends a result
would leave the reader waiting for the rest. With one pipe for each process its end is seen at once, whenever it comes,
nobody else is disturbed, and workers whose parent was killed end too.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType

from veriformer.conformance_tests.run.workers.crew import Ended
from veriformer.conformance_tests.run.workers.errors import WorkersLost
from veriformer.conformance_tests.run.workers.serving import serve
from veriformer.conformance_tests.run.workers.shares import Returned, Share

# So many that never began, one after the other, and it is not chance.
_FAILED_STARTS = 3
# What has nothing to do loses nothing when it is killed.
_SECONDS_TO_END = 0.5
_SECONDS_TO_DIE = 1.0


class Worker:
    """One process, and the share that it is trying."""

    def __init__(self, main: Callable[[Connection], None] = serve) -> None:
        # Frameworks run threads, which a forked process would have the locks of and not the threads.
        context = get_context("spawn")
        self.connection, other_end = context.Pipe()
        self.process: BaseProcess = context.Process(target=main, args=(other_end,))
        self.process.start()
        other_end.close()
        self.has_begun = False
        self.share: Share | None = None
        self.operations: set[str] = set()

    def give(self, share: Share) -> None:
        """Send a share; what becomes of a process that does not live any more is seen when it is waited for."""
        self.share = share
        self.operations.add(share.operation)
        try:
            self.connection.send(share)
        except OSError:
            return

    def take(self) -> Returned | None:
        """Return what came, None for the first message, which says that the process has begun; EOFError at its end."""
        try:
            if not self.connection.poll():
                raise EOFError
            returned: Returned | None = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        self.has_begun = True
        return returned

    def end(self, seconds: float) -> str:
        """Give the process some seconds to end, kill it where it lives on, and return how it ended."""
        self.connection.close()
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return ending(self.process.exitcode or 0)


class Workers:
    """So many processes of this machine, to be used in a `with` statement, at whose beginning they start."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"the number of workers is {number}; it must be at least 1")
        self.size = number
        self._workers: list[Worker] = []
        self._failed_starts = 0

    @property
    def has_room(self) -> bool:
        """Whether a worker is idle, or one more can be started."""
        return sum(worker.share is not None for worker in self._workers) < self.size

    def begin(self, waiting: list[Share]) -> None:
        """Give one of the shares to a worker that is idle, or to a new one."""
        worker = next((worker for worker in self._workers if worker.share is None), None)
        if worker is None:
            worker = Worker()
            self._workers.append(worker)
        share = self._best_for(worker, waiting)
        waiting.remove(share)
        worker.give(share)

    def wait(self) -> Ended:
        """Wait for the next share to end; WorkersLost where processes end before they have begun."""
        while True:
            # The process too: something that it started might keep the pipe open.
            ready = wait(end for worker in self._workers for end in (worker.connection, worker.process.sentinel))
            for worker in list(self._workers):
                if worker.connection in ready or worker.process.sentinel in ready:
                    ended = self._heard(worker)
                    if ended is not None:
                        return ended

    def abandon(self) -> None:
        """End the processes that are busy."""
        for worker in [worker for worker in self._workers if worker.share is not None]:
            self._workers.remove(worker)
            worker.end(0)

    def __enter__(self) -> Workers:
        # All at once: they import what they need while the process that has them does the same.
        self._workers = [Worker() for _ in range(self.size)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abandon()
        for worker in self._workers:
            worker.connection.close()
        while self._workers:
            self._workers.pop().end(_SECONDS_TO_END)

    def _best_for(self, worker: Worker, waiting: list[Share]) -> Share:
        """Return a share of an operation that the worker knows, else of one that no other knows, else the first.

        A framework that compiles does so once in each process.
        """
        known = next((share for share in waiting if share.operation in worker.operations), None)
        taken = {operation for other in self._workers for operation in other.operations}
        return known or next((share for share in waiting if share.operation not in taken), waiting[0])

    def _heard(self, worker: Worker) -> Ended | None:
        """Return the share that ended; None where a worker has only begun, or one that had no share is gone."""
        try:
            returned = worker.take()
        except EOFError:
            return self._gone(worker)
        self._failed_starts = 0
        share = worker.share
        if returned is None or share is None:
            return None
        worker.share = None
        return Ended(share, returned)

    def _gone(self, worker: Worker) -> Ended | None:
        self._workers.remove(worker)
        how = worker.end(_SECONDS_TO_DIE)
        if not worker.has_begun:
            self._failed_starts += 1
        if self._failed_starts == _FAILED_STARTS:
            raise WorkersLost(
                f"{_FAILED_STARTS} worker processes ended before they began ({how}); a script that checks with workers "
                'must do so under `if __name__ == "__main__":`, since every worker imports it'
            )
        return None if worker.share is None else Ended(worker.share, None, how)


def ending(status: int) -> str:
    """Return how a process ended, as one says it."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
