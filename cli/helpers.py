"""Who tries the laws of a run, and the file that it goes on from, as the options of a command ask for them."""

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
    """Give the processes of this machine or of a cluster, None for neither; UserError where they cannot be had."""
    if workers and dask:
        raise UserError("--workers are processes of this machine and --dask those of a cluster; give one of the two")
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
    """Give the record of a run, None without a file; UserError where the file is of no use."""
    if path is None:
        yield None
        return
    from veriformer.conformance_tests.run.resuming.record import RecordFile, UnusableRecord

    try:
        yield RecordFile(path, selection, implementations)
    except UnusableRecord as error:
        raise UserError(str(error), error) from error
