"""`--report`: a page of HTML about what a command found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from veriformer.cli.failures import UserError
from veriformer.cli.options import file_option, refuse_unwritable, writing

REPORT = file_option("--report", "report_file", meaning="Write a page of HTML that shows what was found.")


def refuse_report(path: Path | None, sources: Sequence[str], others: dict[str, Path | None]) -> None:
    """Raise UserError before the run if its page cannot be written, or if another option writes the same file."""
    refuse_unwritable(path, sources)
    for name, other in others.items():
        if path is not None and other is not None and path.resolve() == other.resolve():
            raise UserError(f"--report and {name} both write {path}; give each a file of its own")


def write_report(path: Path | None, page: Callable[[str], str]) -> None:
    """Write the page that `page` makes of the command line; nothing without a file."""
    from veriformer.conformance_tests.reports.html.pages import write_page

    if path is None:
        return
    text = page(command_line())
    with writing(path):
        write_page(path, text)


def command_line() -> str:
    """Return the command line as a shell takes it."""
    context = click.get_current_context()
    given = context.find_root().obj or [context.info_name or ""]
    return shlex.join(["veriformer", *given])
