"""The workers of a Dask cluster that runs already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from veriformer.adapters.installation import installation
from veriformer.conformance_tests.run.workers.errors import NoCluster
from veriformer.conformance_tests.run.workers.executors import ExecutorPool
from veriformer.conformance_tests.run.workers.pool import WorkerPool

_SECONDS_TO_ANSWER = 10


@contextmanager
def cluster(address: str) -> Iterator[WorkerPool]:
    """Yield the workers of the cluster whose scheduler has this address; NoCluster where there are none."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        if error.name not in ("distributed", "dask"):
            raise
        raise NoCluster(
            f"a cluster needs Dask's distributed, which is not installed: {installation().install('dask')}"
        ) from error
    try:
        client = Client(address, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoCluster(
            f"no Dask scheduler answers at {address!r} ({type(error).__name__}); give its address as "
            "`dask scheduler` prints it, such as tcp://127.0.0.1:8786"
        ) from error
    with client:
        # The threads of one process take turns, so that a process counts once.
        workers = len(client.nthreads())
        if not workers:
            raise NoCluster(f"the Dask cluster at {address} has no workers; start some: dask worker {address}")
        yield ExecutorPool(client.get_executor(pure=False), workers)
