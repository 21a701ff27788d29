"""Whoever tries shares: what the distribution of a run needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from veriformer.conformance_tests.run.workers.shares import Returned, Share


@dataclass(frozen=True)
class Ended:
    """A share that was tried; `returned` is None where the process ended over it, and `how` says in which way."""

    share: Share
    returned: Returned | None
    how: str = ""


class Crew(Protocol):
    """Processes that take shares."""

    @property
    def size(self) -> int:
        """How many shares can be tried at the same time."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether another share can be handed over now."""
        ...

    def begin(self, waiting: list[Share]) -> None:
        """Take one of the shares that wait, and hand it over."""
        ...

    def wait(self) -> Ended:
        """Wait for the next share to end; WorkersLost where there is nobody who could end one."""
        ...

    def abandon(self) -> None:
        """Give up what is handed over and has not ended."""
        ...
