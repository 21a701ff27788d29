"""Any executor of `concurrent.futures` as a crew; it belongs to the caller, who ends it."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait

from veriformer.conformance_tests.run.workers.crew import Ended
from veriformer.conformance_tests.run.workers.errors import WorkersLost
from veriformer.conformance_tests.run.workers.shares import Returned, Share
from veriformer.conformance_tests.run.workers.working import try_share


class ExecutorCrew:
    """The workers of an executor."""

    def __init__(self, executor: Executor, size: int | None = None) -> None:
        self._executor = executor
        # No executor tells how many workers it has; those of the standard library have this name for it.
        known = size or getattr(executor, "_max_workers", None)
        self.size: int = known if isinstance(known, int) and known > 0 else os.cpu_count() or 1
        self._shares: dict[Future[Returned], Share] = {}

    @property
    def has_room(self) -> bool:
        """Always: an executor has a queue of its own."""
        return True

    def begin(self, waiting: list[Share]) -> None:
        """Submit the first of the shares; WorkersLost where the executor takes none."""
        share = waiting.pop(0)
        try:
            self._shares[self._executor.submit(try_share, share)] = share
        except RuntimeError as error:
            raise WorkersLost(_lost(error)) from error

    def wait(self) -> Ended:
        """Wait for the next share to end; WorkersLost where the executor is broken."""
        future = next(iter(wait(self._shares, return_when=FIRST_COMPLETED).done))
        share = self._shares.pop(future)
        try:
            return Ended(share, future.result())
        except (BrokenExecutor, CancelledError) as error:
            raise WorkersLost(_lost(error)) from error
        except Exception as error:
            # A cluster's scheduler gives up a task after some of its workers have died over it, and says so.
            if type(error).__name__ != "KilledWorker":
                raise
            return Ended(share, None, "its workers died")

    def abandon(self) -> None:
        """Cancel the shares that wait; those that are being tried end unheard."""
        for future in self._shares:
            future.cancel()
        self._shares.clear()


def _lost(error: BaseException) -> str:
    return (
        f"the executor takes no more work ({type(error).__name__}: {error}); give a number of workers, which are "
        "started again when they die, or a new executor"
    )
