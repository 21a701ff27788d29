"""Which implementations `veriformer check` runs in a process of their own, and that process started in good time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.adapters.implementation import Implementation
    from veriformer.adapters.isolation.limits import Limits
    from veriformer.adapters.isolation.supervisor import Supervisor


def is_isolated(implementation: str, wish: bool | None) -> bool:
    """Return whether an implementation gets a process of its own: a file unless that is refused, a module if asked for.

    A built-in implementation is trusted, whatever is asked for; so is a file where the system has no such processes.
    """
    from veriformer.adapters.built_in import BUILT_IN

    if implementation in BUILT_IN:
        return False
    if wish is not None:
        return wish
    return implementation.partition(":")[0].endswith(".py") and os.name == "posix"


class Isolation:
    """The implementations to check, of which the first is already loading while the laws are imported."""

    def __init__(self, implementations: tuple[str, ...], wish: bool | None, limits: Limits) -> None:
        self._wish = wish
        self._limits = limits
        self._begun = self._begin(implementations[0])
        self._first = implementations[0]

    def target(self, implementation: str) -> str | Implementation:
        """Return what is to be checked: the name of what runs here, or the implementation in its process.

        LoadError where it cannot be loaded.
        """
        if not is_isolated(implementation, self._wish):
            return implementation
        from veriformer.adapters.isolation.loading import load_isolated

        begun = self._begun if implementation == self._first else None
        return load_isolated(implementation, self._limits, begun)

    def _begin(self, implementation: str) -> Supervisor | None:
        from veriformer.adapters.isolation.supervisor import Supervisor

        # Where it is refused, that is said once what is refused has its turn.
        if not is_isolated(implementation, self._wish) or os.name != "posix":
            return None
        return Supervisor(implementation, self._limits)
