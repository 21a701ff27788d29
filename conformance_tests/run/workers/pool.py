"""A worker pool: what the distribution of a run needs to know of the processes that try its laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from veriformer.conformance_tests.run.workers.work_items import ItemResults, WorkItem


@dataclass(frozen=True)
class Finished:
    """A work item that is finished; `results` is None where its process ended over it, and `how` says in which way."""

    item: WorkItem
    results: ItemResults | None
    how: str = ""


class WorkerPool(Protocol):
    """Processes that take work items."""

    @property
    def size(self) -> int:
        """How many items can be tried at the same time."""

    @property
    def has_room(self) -> bool:
        """Whether the pool takes another item now."""

    def submit_one(self, waiting: list[WorkItem]) -> None:
        """Remove one of the waiting items from the list and submit it."""

    def wait(self) -> Finished:
        """Wait until an item is finished; WorkersLost where no process is left to finish one."""

    def abandon(self) -> None:
        """Give up the items that are not finished."""
