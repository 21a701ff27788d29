"""`veriformer identify`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from veriformer.cli.exports import Exports, export_options
from veriformer.cli.failures import COULD_NOT_RUN, UserError, show_broken_packages, show_user_error
from veriformer.cli.interrupted import end_interrupted
from veriformer.cli.isolation import Isolation, IsolationOptions, isolation_options
from veriformer.cli.options import COLOR, OPERATION, file_option, flag, refuse_files, writing
from veriformer.cli.output import printing, standard_output
from veriformer.cli.reporting import REPORT, write_report

if TYPE_CHECKING:
    from veriformer.conformance_tests.conventions.identification import Identification
    from veriformer.conformance_tests.reports.exports.outcome import Outcome

Failures = list[tuple[str, Exception]]


@click.command("identify", short_help="Say which conventions implementations obey, with the evidence.")
@click.argument("implementations", metavar="IMPLEMENTATION...", nargs=-1, required=True)
@OPERATION
@click.option("--convention", "conventions", multiple=True, metavar="NAME", help="Only this convention (repeatable).")
@file_option("--json", "json_file", meaning="Write the answers as JSON too.")
@REPORT
@export_options("markdown")
@flag("--verbose", "-v", meaning="Show every question, with its numbers where they are few.")
@flag("--traceback", meaning="Show where the implementation raised.")
@COLOR
@isolation_options
def identify_command(
    implementations: tuple[str, ...],
    operations: tuple[str, ...],
    conventions: tuple[str, ...],
    json_file: Path | None,
    report_file: Path | None,
    verbose: bool,
    traceback: bool,
    color: bool,
    isolation: IsolationOptions,
    exports: Exports,
) -> int:
    """Say which conventions implementations obey: each value, how it is known, and the evidence.

    An IMPLEMENTATION is named as for `veriformer check`. Declared values are tested too. Values that no question tells
    apart are flagged, and a value that counts as a mistake unless it is declared is not accepted.

    \b
    Examples:
      veriformer identify my_attention.py
      veriformer identify torch jax --convention causal_alignment
      veriformer identify my_attention.py --verbose --json conventions.json

    Exit status: 0 no declared value is contradicted, 1 one is, 2 it could not run.
    """  # noqa: D301 - click reads \b
    refuse_files({"--report": report_file, "--json": json_file, **exports.files}, implementations)
    show_broken_packages()
    found, failures = _identified(Isolation(implementations, isolation), implementations, operations, conventions)
    _write_json(json_file, found, failures)
    write_report(report_file, lambda command: _page(found, failures, command))
    exported = _exported(found, failures, exports)
    exports.write(exported)
    with printing():
        with exports.without_commands():
            _print(found, verbose=verbose, color=color)
        exports.show_on_github(exported)
    for _, error in failures:
        show_user_error(UserError(str(error), error.__cause__ or error), with_traceback=traceback)
    if any(one.interrupted for one in found):
        return end_interrupted()
    statuses = [identification.exit_status for identification in found]
    return max([*statuses, COULD_NOT_RUN] if failures else statuses)


def _identified(
    isolation: Isolation,
    implementations: tuple[str, ...],
    operations: tuple[str, ...],
    conventions: tuple[str, ...],
) -> tuple[list[Identification], Failures]:
    from veriformer.adapters.errors import LoadError
    from veriformer.conformance_tests.conventions.identification import identify
    from veriformer.conformance_tests.core.selection import UnknownName

    found: list[Identification] = []
    failures: Failures = []
    for implementation in implementations:
        try:
            with isolation.loaded(implementation) as target:
                wanted = conventions or None
                found.append(identify(target, operations or None, conventions=wanted, keeps_interrupted=True))
        except UnknownName as error:
            raise UserError(str(error)) from error
        except LoadError as error:
            failures.append((implementation, error))
        except KeyboardInterrupt:
            if not found:
                raise
            # While another was loaded.
            found[-1] = replace(found[-1], interrupted=True)
        if found and found[-1].interrupted:
            break
    if found and found[-1].interrupted and not any(one.operations for one in found):
        raise KeyboardInterrupt
    return found, failures


def _print(found: list[Identification], *, verbose: bool, color: bool) -> None:
    from veriformer.conformance_tests.reports.identified import identification_lines
    from veriformer.conformance_tests.reports.layout import blank
    from veriformer.conformance_tests.reports.screen import print_lines

    console = standard_output(color=color)
    for number, identification in enumerate(found):
        lines = identification_lines(identification, width=console.width, verbose=verbose)
        print_lines(console, [blank(), *lines] if number else lines)


def _page(found: list[Identification], failures: Failures, command: str) -> str:
    from veriformer.conformance_tests.reports.html.pages import identification_page

    return identification_page(found, [(name, str(error)) for name, error in failures], command=command)


def _exported(found: list[Identification], failures: Failures, exports: Exports) -> list[Outcome]:
    if not exports.wanted:
        return []
    from veriformer.conformance_tests.reports.exports.checks import could_not_run
    from veriformer.conformance_tests.reports.exports.identifications import identification_outcome

    return [*map(identification_outcome, found), *(could_not_run(*failure) for failure in failures)]


def _write_json(path: Path | None, found: list[Identification], failures: Failures) -> None:
    from veriformer.conformance_tests.reports.identified import failure_of_identify, identification_as_json
    from veriformer.conformance_tests.reports.json_report import write_json

    if path is None:
        return
    objects = [identification_as_json(identification) for identification in found]
    objects += [failure_of_identify(name, str(error)) for name, error in failures]
    with writing(path):
        write_json(path, objects)
