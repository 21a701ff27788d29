"""A progress bar on stderr, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.conformance_tests.runner import Progress as Told


@contextmanager
def progress_bar(*, color: bool = True) -> Iterator[Callable[[Told], None]]:
    """Give a function that shows where a run stands; the bar is gone afterwards."""
    if not sys.stderr.isatty():
        yield lambda _: None
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
    # While an operation runs its output is captured; the bar must neither land there nor be captured with it.
    console = Console(file=sys.stderr, no_color=not color)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("", implementation="")

        def show(told: Told) -> None:
            bar.update(task, completed=told.done, total=told.total, description=told.law)
            bar.update(task, implementation=told.implementation)

        yield show
