"""What is asked of a run: one record, from the command line to the laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from veriformer.adapters.asked import NOTHING_ASKED, Asked
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.conformance_tests.run.pace import Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from veriformer.conformance_tests.run.resuming.record import RecordFile
    from veriformer.conformance_tests.run.workers.pool import WorkerPool


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, as the keywords of `check` describe them; each function reads those that it needs.

    `isolation` holds the limits of the implementation's own process, None to call it in this one. `most_tried` is how
    many calls may be made in order to find a smaller case, None for the usual number. `began` is when the time of the
    budget began, by the monotonic clock; None for the beginning of the run. `asked` is what the user says of the
    implementation from outside. With `keeps_interrupted` an interrupt ends the run with a report on what was tried
    until then, rather than with KeyboardInterrupt. With `tells_at_once` the progress has a sentence as soon as a law is
    violated, which takes calls of its own.
    """

    selection: Selection = field(default_factory=Selection)
    expected_failures: ExpectedFailures = field(default_factory=ExpectedFailures)
    fail_fast: bool = False
    shrink: bool = True
    most_tried: int | None = None
    diagnosis: bool = True
    budget: float | None = None
    began: float | None = None
    isolation: ProcessLimits | None = None
    progress: Callable[[Progress], None] | None = None
    workers: int = 0
    executor: Executor | WorkerPool | None = None
    resume: Path | str | RecordFile | None = None
    asked: Asked = NOTHING_ASKED
    keeps_interrupted: bool = False
    tells_at_once: bool = False

    def show(self, progress: Progress) -> None:
        """Report the progress of the run, if requested."""
        if self.progress is not None:
            self.progress(progress)

    def for_worker(self, isolation: ProcessLimits | None) -> RunOptions:
        """Return the options of a worker process, which can be pickled."""
        return replace(self, isolation=isolation, progress=None, began=None, workers=0, executor=None, resume=None)
