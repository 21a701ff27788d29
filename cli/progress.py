"""Progress on stderr: a bar on a terminal, and the expected time of a long run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.pace import Progress as RunProgress


@contextmanager
def progress_bar(*, color: bool = True) -> Iterator[Callable[[RunProgress], None]]:
    """Yield a function that shows the progress of a run; the bar disappears afterwards."""
    # The output of operations is captured meanwhile; the bar must not be captured with it.
    stream = sys.stderr
    if not stream.isatty():
        yield lambda progress: say(progress, stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[implementation]}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    console = Console(file=stream, no_color=not color)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        # A model has no laws to be counted.
        task = bar.add_task("", implementation="", visible=False)

        def show(progress: RunProgress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=progress.law)
            bar.update(task, implementation=progress.implementation, visible=True)
            if progress.forecast:
                console.print(_sentence(progress), markup=False, highlight=False)

        yield show


def say(progress: RunProgress, stream: TextIO) -> None:
    """Write the expected time of a run that will take long, and nothing else."""
    if progress.forecast:
        print(_sentence(progress), file=stream, flush=True)


def _sentence(progress: RunProgress) -> str:
    return f"{progress.implementation} will take {progress.forecast}"
