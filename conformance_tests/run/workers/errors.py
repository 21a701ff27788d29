"""What can go wrong with workers: each error says what to do, and none says anything about a law."""

from __future__ import annotations


class WorkersError(Exception):
    """Base of every error of this folder."""


class NotSendable(WorkersError):
    """The implementation exists in this process only."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"workers cannot receive an implementation that is an object ({kind}); give a built-in name, a .py file "
            "or an import path, or check it without workers"
        )


class NoCluster(WorkersError):
    """No Dask cluster can be used."""


class WorkersLost(WorkersError):
    """No process is left to try laws, and none can be started; finished results are in the file of --resume."""


class WorkerDefect(WorkersError):
    """Veriformer itself failed in a worker; the message has the traceback."""
