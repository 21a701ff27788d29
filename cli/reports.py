"""`veriformer report`: reports that were written before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError
from veriformer.cli.options import COLOR, file_option, refuse_unwritable, writing
from veriformer.cli.output import printing, standard_output
from veriformer.cli.reporting import write_report

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.changes.comparing import Changes
    from veriformer.conformance_tests.reports.schemas import Command


# As in reports/schemas, which is imported only when a schema is printed.
_WITH_SCHEMA = ("check", "compare", "identify")


@click.group("report", short_help="Compare reports that were written before; make a badge; print their JSON Schema.")
def report_group() -> None:
    """Read reports that --report or --json wrote."""


@report_group.command("diff", short_help="Show what changed from an old report to a new one.")
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD")
@click.argument("new", type=click.Path(path_type=Path), metavar="NEW")
@file_option("--html", "html_file", meaning="Write a page of HTML that shows the changes.")
@COLOR
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
def diff_command(old: Path, new: Path, html_file: Path | None, color: bool, traceback: bool) -> int:
    """Show what is newly broken, mended, otherwise named and no longer tried in a NEW report, compared with an OLD one.

    Both are files that --report (.html) or --json (.json) wrote for check, compare or identify.

    Exit status: 0 nothing is newly broken, 1 something is, 2 a report could not be read.
    """
    refuse_unwritable(html_file, (str(old), str(new)))
    changes = _changes(old, new)
    write_report(html_file, lambda command: _page(changes, old, new, command))
    with printing():
        _print(changes, color=color)
    return changes.exit_status


@report_group.command("badge", short_help="Write a badge for a README from a report of check.")
@click.argument("report", type=click.Path(path_type=Path), metavar="REPORT")
@file_option("--output", meaning="Where it goes, instead of the terminal.")
def badge_command(report: Path, output: Path | None) -> int:
    """Write a badge as JSON that shields.io draws: how many laws hold, or are broken, in a REPORT of check.

    The report is a file that --report (.html) or --json (.json) wrote. Publish the JSON, and show
    https://img.shields.io/endpoint?url=ADDRESS.

    Exit status: 0 the badge was written, whatever it says, 2 the report could not be read.
    """
    from veriformer.conformance_tests.reports.changes.reading import UnreadableReport, read_objects
    from veriformer.conformance_tests.reports.exports.badge import badge
    from veriformer.conformance_tests.run.atomic import write_text

    refuse_unwritable(output, (str(report),))
    try:
        text = badge(read_objects(report)[0])
    except UnreadableReport as error:
        raise UserError(str(error), error) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{report} is no report of check, which alone has a badge: name one of its files") from error
    if output is None:
        with printing():
            click.echo(text, nl=False)
    else:
        with writing(output):
            write_text(output, text)
    return 0


@report_group.command("schema", short_help="Print the JSON Schema of what --json writes.")
@click.argument("command", type=click.Choice(_WITH_SCHEMA))
def schema_command(command: Command) -> int:
    """Print the JSON Schema (2020-12) of the file that --json of a COMMAND writes.

    It allows further keys, which later versions may add: an older schema describes a newer report too.
    """
    from veriformer.conformance_tests.reports.schemas import schema_text

    with printing():
        click.echo(schema_text(command), nl=False)
    return 0


def _changes(old: Path, new: Path) -> Changes:
    from veriformer.conformance_tests.reports.changes.comparing import NotComparable, changes_between
    from veriformer.conformance_tests.reports.changes.reading import UnreadableReport, read_report

    try:
        return changes_between(read_report(old), read_report(new))
    except (UnreadableReport, NotComparable) as error:
        raise UserError(str(error), error) from error


def _page(changes: Changes, old: Path, new: Path, command: str) -> str:
    from veriformer.conformance_tests.reports.html.changes_page import changes_page

    return changes_page(changes, str(old), str(new), command=command)


def _print(changes: Changes, *, color: bool) -> None:
    from veriformer.conformance_tests.reports.changes.presenting import change_lines
    from veriformer.conformance_tests.reports.screen import print_lines

    console = standard_output(color=color)
    print_lines(console, change_lines(changes, console.width))
