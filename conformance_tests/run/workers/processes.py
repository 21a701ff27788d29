"""Worker processes of this machine, each with a pipe of its own.

A shared pool would not say over which item a process died, and a process that is killed while it sends its results
would leave the reader waiting for the rest. With a pipe for each process its end is seen at once, whenever it comes,
and no other process is disturbed.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType

from veriformer.adapters.processes import Ending, lasting_parent
from veriformer.conformance_tests.run.workers.errors import WorkersLost
from veriformer.conformance_tests.run.workers.pool import Finished
from veriformer.conformance_tests.run.workers.serving import serve
from veriformer.conformance_tests.run.workers.work_items import ItemResults, WorkItem

# When so many processes in a row end before they have begun, it is not by chance.
_FAILED_STARTS = 3
# An idle worker loses nothing when it is killed.
_SECONDS_TO_END = 0.5
_SECONDS_TO_DIE = 1.0


class Worker:
    """One process, and the work item that it is trying."""

    def __init__(self, main: Callable[[Connection, int | None], None] = serve) -> None:
        # Frameworks run threads; a forked process would have their locks without the threads.
        context = get_context("spawn")
        self.connection, other_end = context.Pipe()
        self.process: BaseProcess = context.Process(target=main, args=(other_end, lasting_parent()))
        self.process.start()
        other_end.close()
        self.has_begun = False
        self.item: WorkItem | None = None
        self.operations: set[str] = set()

    def give(self, item: WorkItem) -> None:
        """Send an item; that the process has ended is seen when it is waited for."""
        self.item = item
        self.operations.add(item.operation)
        try:
            self.connection.send(item)
        except OSError:
            return

    def take(self) -> ItemResults | None:
        """Return what came, None for the first message, which says that the process has begun; EOFError at its end."""
        try:
            if not self.connection.poll():
                raise EOFError
            results: ItemResults | None = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        self.has_begun = True
        return results

    def end(self, seconds: float) -> Ending:
        """Give the process some seconds to end, kill it if it is still alive, and return how it ended."""
        self.connection.close()
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return Ending(self.process.exitcode or 0)


class ProcessPool:
    """A number of processes of this machine, to be used in a `with` statement, at whose beginning they start."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"the number of workers is {number}; it must be at least 1")
        self.size = number
        self._workers: list[Worker] = []
        self._failed_starts = 0

    @property
    def has_room(self) -> bool:
        """Whether a worker is idle, or one more can be started."""
        return sum(worker.item is not None for worker in self._workers) < self.size

    def submit_one(self, waiting: list[WorkItem]) -> None:
        """Give one of the items to a worker that is idle, or to a new one."""
        worker = next((worker for worker in self._workers if worker.item is None), None)
        if worker is None:
            worker = Worker()
            self._workers.append(worker)
        item = self._best_for(worker, waiting)
        waiting.remove(item)
        worker.give(item)

    def wait(self) -> Finished:
        """Wait until an item is finished; WorkersLost where processes end before they have begun."""
        while True:
            # The process too: another one that it started might keep the pipe open.
            ready = wait(end for worker in self._workers for end in (worker.connection, worker.process.sentinel))
            for worker in list(self._workers):
                if worker.connection in ready or worker.process.sentinel in ready:
                    finished = self._received(worker)
                    if finished is not None:
                        return finished

    def abandon(self) -> None:
        """End the processes that are busy."""
        for worker in [worker for worker in self._workers if worker.item is not None]:
            self._workers.remove(worker)
            worker.end(0)

    def __enter__(self) -> ProcessPool:
        # All at once: they import what they need while this process does the same.
        self._workers = [Worker() for _ in range(self.size)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abandon()
        for worker in self._workers:
            worker.connection.close()
        while self._workers:
            self._workers.pop().end(_SECONDS_TO_END)

    def _best_for(self, worker: Worker, waiting: list[WorkItem]) -> WorkItem:
        """Return an item of an operation that the worker knows, else of one that no other knows, else the first.

        A framework that compiles does so once in each process.
        """
        known = next((item for item in waiting if item.operation in worker.operations), None)
        taken = {operation for other in self._workers for operation in other.operations}
        return known or next((item for item in waiting if item.operation not in taken), waiting[0])

    def _received(self, worker: Worker) -> Finished | None:
        """Return the item that is finished; None where a worker has only begun, or an idle one is gone."""
        try:
            results = worker.take()
        except EOFError:
            return self._gone(worker)
        self._failed_starts = 0
        item = worker.item
        if results is None or item is None:
            return None
        worker.item = None
        return Finished(item, results)

    def _gone(self, worker: Worker) -> Finished | None:
        self._workers.remove(worker)
        how = worker.end(_SECONDS_TO_DIE)
        if not worker.has_begun:
            self._failed_starts += 1
        if self._failed_starts == _FAILED_STARTS:
            raise WorkersLost(
                f"{_FAILED_STARTS} worker processes ended before they began ({how}); a script that checks with workers "
                'must do so under `if __name__ == "__main__":`, since every worker imports it'
            )
        return None if worker.item is None else Finished(worker.item, None, str(how))
