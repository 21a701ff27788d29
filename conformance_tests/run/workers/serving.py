"""The main function of a worker process. It imports little, so that it is ready before an interrupt can reach it."""

from __future__ import annotations

import contextlib
import signal
from multiprocessing.connection import Connection

from veriformer.adapters.processes import end_with


def serve(connection: Connection, parent: int | None) -> None:
    """Try the items that come, one at a time, until the other end of the connection is closed."""
    # Ctrl-C is meant for the run; the process that began it ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    from veriformer.conformance_tests.operations.laws import laws
    from veriformer.conformance_tests.run.workers.working import try_item

    laws()
    # The other end is closed when the run is over, and also when its process was killed.
    with contextlib.suppress(EOFError, OSError):
        connection.send(None)
        while True:
            connection.send(try_item(connection.recv()))
