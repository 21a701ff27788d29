"""The worker pool and the resume file that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.cli.failures import UserError

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.conformance_tests.run.resuming.record import RecordFile
    from veriformer.conformance_tests.run.workers.pool import WorkerPool


@contextmanager
def pool_for(workers: int, dask: str | None) -> Iterator[WorkerPool | None]:
    """Yield the pool of this machine or of a cluster, None for neither; UserError where there is no such pool."""
    if workers and dask:
        raise UserError("--workers uses processes of this machine and --dask those of a cluster; give one of the two")
    if not workers and not dask:
        yield None
        return
    from veriformer.conformance_tests.run.workers.cluster import cluster
    from veriformer.conformance_tests.run.workers.errors import NoCluster, WorkersLost
    from veriformer.conformance_tests.run.workers.processes import ProcessPool

    with ExitStack() as stack:
        try:
            yield stack.enter_context(cluster(dask) if dask else ProcessPool(workers))
        except (NoCluster, WorkersLost) as error:
            raise UserError(str(error), error) from error


@contextmanager
def record_for(
    path: Path | None, selection: Selection, implementations: tuple[str, ...]
) -> Iterator[RecordFile | None]:
    """Yield the record of a run, None without a file; UserError where the file cannot be used."""
    if path is None:
        yield None
        return
    from veriformer.conformance_tests.run.resuming.record import RecordFile, UnusableRecord

    try:
        yield RecordFile(path, selection, implementations)
    except UnusableRecord as error:
        raise UserError(str(error), error) from error
