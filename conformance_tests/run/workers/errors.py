"""What can go wrong with workers, each in one sentence that says what to do; none says anything about a law."""

from __future__ import annotations


class WorkersError(Exception):
    """Base of every error of this folder."""


class NotSendable(WorkersError):
    """The implementation exists in this process only."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"an implementation that other processes try must be named, and this one is an object ({kind}); give a "
            "built-in name, a .py file or an import path, or check it without workers"
        )


class NoCluster(WorkersError):
    """No Dask cluster can be used."""


class WorkersLost(WorkersError):
    """There is no process left to try laws, nor a way to start one; what was finished is in the file of --resume."""


class WorkerDefect(WorkersError):
    """Veriformer itself failed in a worker; the message has the traceback."""
