"""Any executor of `concurrent.futures` as a worker pool; the caller shuts it down."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait

from veriformer.conformance_tests.run.workers.errors import WorkersLost
from veriformer.conformance_tests.run.workers.pool import Finished
from veriformer.conformance_tests.run.workers.work_items import ItemResults, WorkItem
from veriformer.conformance_tests.run.workers.working import try_item


class ExecutorPool:
    """The workers of an executor."""

    # An executor has a queue of its own.
    has_room = True

    def __init__(self, executor: Executor, size: int | None = None) -> None:
        self._executor = executor
        # No executor publishes the number of its workers; those of the standard library have it under this name.
        known = size or getattr(executor, "_max_workers", None)
        self.size: int = known if isinstance(known, int) and known > 0 else os.cpu_count() or 1
        self._items: dict[Future[ItemResults], WorkItem] = {}

    def submit_one(self, waiting: list[WorkItem]) -> None:
        """Submit the first of the items; WorkersLost where the executor takes none."""
        item = waiting.pop(0)
        try:
            self._items[self._executor.submit(try_item, item)] = item
        except RuntimeError as error:
            raise _lost(error) from error

    def wait(self) -> Finished:
        """Wait until an item is finished; WorkersLost where the executor is broken."""
        future = next(iter(wait(self._items, return_when=FIRST_COMPLETED).done))
        item = self._items.pop(future)
        try:
            return Finished(item, future.result())
        except (BrokenExecutor, CancelledError) as error:
            raise _lost(error) from error
        except Exception as error:
            # The scheduler of a cluster gives up a task after some of its workers have died over it, and says so.
            if type(error).__name__ != "KilledWorker":
                raise
            return Finished(item, None, "its workers died")

    def abandon(self) -> None:
        """Cancel the items that wait; the results of those that are being tried are dropped."""
        for future in self._items:
            future.cancel()
        self._items.clear()


def _lost(error: BaseException) -> WorkersLost:
    return WorkersLost(
        f"the executor takes no more work ({type(error).__name__}: {error}); give a number of workers, which are "
        "started again when they die, or a new executor"
    )
