"""What a worker does with a work item: it loads the implementation once, and tries laws as any run does."""

from __future__ import annotations

import contextlib
import io
import threading
import traceback
from dataclasses import replace

from veriformer.adapters.errors import LoadError
from veriformer.adapters.isolation.loading import load_within
from veriformer.conformance_tests.core.fingerprint import fingerprint
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run.pace import Pace
from veriformer.conformance_tests.run.runner import Run
from veriformer.conformance_tests.run.workers.work_items import Assignment, ItemResults, WorkItem

# Threads take turns: output is captured for the whole process, and an operation remembers its calls.
_TURN = threading.Lock()
# The present run, with the profiles of the operations that were examined.
_PRESENT: dict[str, Run] = {}


def try_item(item: WorkItem) -> ItemResults:
    """Try the laws of a work item; whatever goes wrong is in what is returned."""
    with _TURN:
        try:
            return _tried(_run_of(item.assignment), item)
        except LoadError as error:
            return ItemResults(failure=str(error))
        except Exception:
            return ItemResults(defect=traceback.format_exc())


def _tried(run: Run, item: WorkItem) -> ItemResults:
    results: list[LawResult] = []
    for identifier in item.laws:
        results.append(run.try_in_run(laws()[identifier]))
        if item.assignment.options.fail_fast and run.is_violation(results[-1]):
            break
    operations = {result.law.operation.name for result in results}
    return ItemResults(tuple(results), {name: run.findings[name] for name in operations if name in run.findings})


def _run_of(assignment: Assignment) -> Run:
    if assignment.run not in _PRESENT:
        for run in _PRESENT.values():
            run.implementation.close()
        _PRESENT.clear()
        _PRESENT[assignment.run] = _loaded(assignment)
    return _PRESENT[assignment.run]


def _loaded(assignment: Assignment) -> Run:
    """Load the implementation; LoadError where it is not the one that the run is about."""
    # The process that began the run has loaded it too, and has shown what loading prints.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        implementation = load_within(assignment.target, assignment.options.isolation, assignment.options.asked)
    found = fingerprint(implementation)
    if found != assignment.fingerprint:
        raise LoadError(
            f"a worker has another version of {assignment.target} ({found}) than the run began with "
            f"({assignment.fingerprint}); do not edit it during a run, and give all machines the same files and "
            "versions"
        )
    implementation.framework.use_one_thread()
    options = assignment.options
    implementation = replace(implementation.restricted_to(options.selection.dtypes), notices=())
    return Run(implementation, options, Pace.until(assignment.deadline, options.budget))
