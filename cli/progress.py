"""Progress on stderr: a bar on a terminal, and the expected time of a long run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn
    from veriformer.conformance_tests.run.pace import Progress as RunProgress

# The columns of a terminal in which a bar and the name of a law would be cut to a few characters.
_NARROW = 70
# A sentence, with the statement of a law in it.
_LONGEST = 600


@contextmanager
def progress_bar(*, color: bool = True) -> Iterator[Callable[[RunProgress], None]]:
    """Yield a function that shows the progress of a run; the bar disappears afterwards."""
    from veriformer.conformance_tests.core.text import plain

    # The output of operations is captured meanwhile; the bar must not be captured with it.
    stream = sys.stderr
    console = _console(stream, color=color)
    if not has_bar():
        yield lambda progress: say(progress, stream)
        return
    from rich.progress import Progress

    quiet: dict[str, Any] = {"transient": True, "redirect_stdout": False, "redirect_stderr": False}
    with Progress(*_columns(console.width), console=console, expand=True, **quiet) as bar:
        # A model has no laws to be counted.
        task = bar.add_task("", implementation="", visible=False)

        def show(progress: RunProgress) -> None:
            now = plain(progress.law or progress.stage)
            bar.update(task, completed=progress.done, total=progress.total, description=now)
            bar.update(task, implementation=plain(progress.implementation), visible=True)
            if progress.forecast:
                console.print(_sentence(progress), markup=False, highlight=False)
            if progress.found:
                console.print(f"✗ {plain(progress.found, _LONGEST)}\n", style="red", markup=False, highlight=False)

        yield show


def has_bar() -> bool:
    """Return whether stderr shows a bar: it is a terminal, and one that can take a line back."""
    return sys.stderr.isatty() and not _console(sys.stderr, color=True).is_dumb_terminal


def _console(stream: TextIO, *, color: bool) -> Console:
    from rich.console import Console

    # None leaves it to NO_COLOR.
    return Console(file=stream, no_color=None if color else True)


def _columns(width: int) -> list[ProgressColumn]:
    """Return what the bar shows on one line of a terminal: less where it is narrow."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    def cut(share: int) -> Column:
        return Column(ratio=share, no_wrap=True, overflow="ellipsis")

    name = TextColumn("{task.fields[implementation]}", markup=False, table_column=cut(1))
    law = TextColumn("{task.description}", markup=False, table_column=cut(2))
    counts = [MofNCompleteColumn(), TimeElapsedColumn()]
    if width < _NARROW:
        return [name, *counts]
    return [name, BarColumn(bar_width=width // 6), *counts, law]


def say(progress: RunProgress, stream: TextIO) -> None:
    """Write the expected time of a run that will take long, and nothing else."""
    if progress.forecast:
        print(_sentence(progress), file=stream, flush=True)


def _sentence(progress: RunProgress) -> str:
    from veriformer.conformance_tests.core.text import plain

    return f"{plain(progress.implementation)} will take {progress.forecast}"
