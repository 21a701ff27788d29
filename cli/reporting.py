"""`--report`: a page of HTML about what a command found."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import click
from veriformer.cli.options import file_option, writing

REPORT = file_option("--report", "report_file", meaning="Write a page of HTML that shows what was found.")


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
