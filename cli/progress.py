"""Where a run stands, on stderr: a bar on a terminal, and everywhere how long it will take, where that is long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.pace import Progress as Told


@contextmanager
def progress_bar(*, color: bool = True) -> Iterator[Callable[[Told], None]]:
    """Give a function that shows where a run stands; the bar is gone afterwards."""
    # While an operation runs its output is captured; what is said here must neither land there nor be captured with it.
    stream = sys.stderr
    if not stream.isatty():
        yield lambda told: say(told, stream)
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
        task = bar.add_task("", implementation="")

        def show(told: Told) -> None:
            bar.update(task, completed=told.done, total=told.total, description=told.law)
            bar.update(task, implementation=told.implementation)
            if told.forecast:
                console.print(_sentence(told), markup=False, highlight=False)

        yield show


def say(told: Told, stream: TextIO) -> None:
    """Write how long the run will take where calls have shown that it will take long, and nothing else."""
    if told.forecast:
        print(_sentence(told), file=stream, flush=True)


def _sentence(told: Told) -> str:
    return f"{told.implementation} will take {told.forecast}"
