"""The main function of a worker process. It imports little: an interruption must find it prepared."""

from __future__ import annotations

import contextlib
import signal
from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Try the shares that come, one at a time, until nobody sends any more."""
    # Whoever presses Ctrl-C means the run; the process that began it ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from veriformer.conformance_tests.operations.laws import laws
    from veriformer.conformance_tests.run.workers.working import try_share

    laws()
    # The other end is closed when the run is over, and also when its process was killed.
    with contextlib.suppress(EOFError, OSError):
        connection.send(None)
        while True:
            connection.send(try_share(connection.recv()))
