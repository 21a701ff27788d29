"""Checking an implementation: the public function, and the same with its options in a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veriformer.adapters.asked import asked_of
from veriformer.adapters.capture.isolated import MODEL_LIMITS
from veriformer.adapters.files import place_of
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_within
from veriformer.conformance_tests.core.selection import Effort, Selection, several
from veriformer.conformance_tests.run.checking_models import check_model, checked
from veriformer.conformance_tests.run.demands import Demands
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.conformance_tests.run.left_out import naming_what_is_left_out
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.pace import Pace, Progress
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from veriformer.conformance_tests.run.resuming.record import RecordFile
    from veriformer.conformance_tests.run.workers.pool import WorkerPool


def check(
    target: object,
    *,
    operations: str | Iterable[str] | None = None,
    laws: str | Iterable[str] | None = None,
    dtypes: str | Iterable[str] | None = None,
    tier: Effort = "standard",
    seed: int = 0,
    expected_failures: ExpectedFailures | Path | str | None = None,
    fail_fast: bool = False,
    shrink: bool = True,
    diagnosis: bool = True,
    progress: Callable[[Progress], None] | None = None,
    isolate: bool = False,
    time_limit: float | None = None,
    import_limit: float | None = None,
    memory_limit: int | None = None,
    workers: int = 0,
    executor: Executor | WorkerPool | None = None,
    resume: Path | str | RecordFile | None = None,
    budget: float | None = None,
    inputs: Any = None,
    operation: str | None = None,
    framework: str | None = None,
    layers_alike: bool = False,
    judged_at_least: float | None = None,
) -> Report:
    """Check an implementation against the laws, or a whole model against what it is, and return a report.

    `target`: a built-in name (`numpy`, `torch`, `jax`), a path to a Python file, an import path, or any object with
        operations as attributes. With workers it is a string. Or a model: an object of its framework, a pair (function,
        parameters), or "model.py:GPT"; the report is a `ModelReport` then, and the arguments about laws do not apply.
        Or a function, or a dictionary of functions by the names of operations or by their own: what each is taken for
        stands in the report's notices.
    `operations`: a name or several; None for all.
    `laws`: an id, a glob over ids, or several; None for all.
    `dtypes`: one or several, instead of the declared ones.
    `tier`: how many cases each law gets: "quick", "standard" or "thorough".
    `seed`: the same seed draws the same cases.
    `expected_failures`: failures that do not count, or the file that lists them.
    `fail_fast`: end the run at the first violation.
    `shrink`: look for the smallest counterexample, rather than keep the first one.
    `diagnosis`: look for the mistake behind the broken laws of each operation.
    `progress`: called with a `Progress` before each law.
    `isolate`: load and call a file or an import path in a process of its own.
    `time_limit`: the seconds that a call may take in that process; 10 by default, 120 for a model.
    `import_limit`: the seconds that importing it there may take; 60 by default, 120 for a model.
    `memory_limit`: the bytes that calls may take there, beyond those of loading; 4 GiB by default, 6 GiB for a model.
    `workers`: how many processes of this machine try the laws; 0 for this process.
    `executor`: what tries the laws instead; it stays open.
    `resume`: a file that keeps the results as they come; laws that have passed are taken from it.
    `budget`: the seconds that the run may take: finding out what functions are, and the laws, the most revealing first;
        the others are reported as not tried.
    `inputs`: what a model is run on, an array, a tuple of arrays, or a dictionary of them by argument.
    `operation`: the operation that a function is; None to tell by its name, its parameters and its results.
    `framework`: whose arrays the operations take; None for the declared one, or to find it by calling them.
    `layers_alike`: the layers of a model are meant to be alike, so that one that does something otherwise departs.
    `judged_at_least`: the share of a model's steps that must be understood, else it does not conform.

    Raises LoadError when the implementation cannot be loaded, UnknownName when an operation, law or tier does not
    exist, UnreadableList when the list of failures cannot be read, UnusableRecord when `resume` belongs to another run,
    WorkersError when laws cannot be handed out, and ValueError for a budget that is not a positive number of seconds,
    for arguments about laws if the target is a model, and for inputs and what is asked of models if it is none.
    """
    target = place_of(target)
    options = RunOptions(
        Selection(several(operations), several(laws), several(dtypes), tier, seed),
        ExpectedFailures.of(expected_failures),
        fail_fast=fail_fast,
        shrink=shrink,
        diagnosis=diagnosis,
        budget=budget,
        isolation=ProcessLimits().changed(time_limit, memory_limit, import_limit) if isolate else None,
        progress=progress,
        workers=workers,
        executor=executor,
        resume=resume,
        asked=asked_of(operation, framework),
    )
    limits = MODEL_LIMITS.changed(time_limit, memory_limit, import_limit) if isolate else None
    demands = Demands(layers_alike, judged_at_least)
    as_implementation = partial(_check_operations, target, options, inputs, demands)
    as_model = partial(check_model, target, inputs, seed=seed, isolation=limits, demands=demands)
    return checked(target, as_model, as_implementation, _about_laws(options))


def _check_operations(target: object, options: RunOptions, inputs: Any, demands: Demands) -> Report:
    _refuse_what_is_for_models(inputs, demands)
    return naming_what_is_left_out(run_check(target, options))


def _refuse_what_is_for_models(inputs: Any, demands: Demands) -> None:
    given = [*(["inputs"] if inputs is not None else []), *demands.given]
    if given:
        one = given in (["layers_alike"], ["judged_at_least"])
        names, (verb, which) = " and ".join(given), ("is", "it") if one else ("are", "them")
        raise ValueError(f"{names} {verb} for a model, and this is an implementation of operations; leave {which} out")


def _about_laws(options: RunOptions) -> list[str]:
    """Return the arguments of `check` that were given and that only laws have a use for."""
    selection = options.selection
    given = {
        "operations": selection.operations,
        "laws": selection.laws,
        "dtypes": selection.dtypes,
        "tier": selection.effort != Selection.effort,
        "expected_failures": options.expected_failures.entries,
        "fail_fast": options.fail_fast,
        "workers": options.workers,
        "executor": options.executor,
        "resume": options.resume,
        "budget": options.budget,
    }
    return [name for name, value in given.items() if value]


def run_check(target: object, options: RunOptions) -> Report:
    """Check an implementation with these options and return a report; raises what `check` raises."""
    pace = Pace(options.budget, began=options.began)
    implementation = load_within(target, options.isolation, options.asked, options.budget)
    try:
        run = Run(implementation.restricted_to(options.selection.dtypes), options, pace)
        with _resumed_and_shared(run, target):
            report = run.report()
        SO_FAR.forget(implementation.name)
        # Looking for a mistake takes calls too.
        wanted = options.diagnosis and not report.interrupted and not pace.is_spent()
        return run.diagnosed(report) if wanted else report
    finally:
        implementation.close()


@contextmanager
def _resumed_and_shared(run: Run, target: object) -> Iterator[None]:
    """Attach the resume file and the worker pool, if requested."""
    options = run.options
    if options.resume is not None:
        from veriformer.conformance_tests.run.resuming.record import record_of

        run.record = record_of(options.resume, run.implementation, options.selection)
    if not options.workers and options.executor is None:
        yield
        return
    from veriformer.conformance_tests.run.workers.distribution import Distribution, pool_of

    with pool_of(options) as pool:
        run.trying = Distribution(pool, target)
        yield
