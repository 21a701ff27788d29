"""`veriformer compare` of two whole models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from veriformer.cli.failures import UserError
from veriformer.cli.interrupted import end_interrupted
from veriformer.cli.isolation import IsolationOptions, is_isolated
from veriformer.cli.options import writing
from veriformer.cli.output import printing, standard_output
from veriformer.cli.reporting import write_report

if TYPE_CHECKING:
    from veriformer.adapters.isolation.limits import ProcessLimits
    from veriformer.cli.exports import Exports
    from veriformer.conformance_tests.ports.findings import PortComparison
    from veriformer.conformance_tests.reports.exports.outcome import Outcome

# Options that models have no use for.
_ABOUT_OPERATIONS = {"operations", "dtypes", "tier", "seed"}


class OneIsNoModel(UserError):
    """Of two names one is no model."""


def compare_named_models(options: dict[str, Any], notices: tuple[str, ...] = ()) -> int | None:
    """Compare two models, print the report, and return the exit status; None where both are implementations.

    Raises OneIsNoModel where one is no model, which may be the other's function of an operation.
    `notices` come first of what is said beside the differences.
    """
    from veriformer.adapters.capture.probable import is_probably_a_model
    from veriformer.adapters.errors import LoadError, NotAModel

    both = (options["first"], options["second"])
    exports: Exports = options["exports"]
    with exports.written_without_result(both):
        try:
            found = _compared(both, options)
            found = replace(found, notices=(*notices, *found.notices))
        except NotAModel as no_model:
            if all(map(is_probably_a_model, both)) and options["inputs"] is None:
                return None
            raise OneIsNoModel(
                f"{no_model}; compare a model with a model (model.py:build), or an implementation with one"
            ) from no_model
        except LoadError as error:
            raise UserError(str(error), error.__cause__ or error) from error
    _refuse_options()
    _write(found, options)
    write_report(options["report_file"], lambda command: _page(found, command))
    exported = _exported(found, exports)
    exports.write(exported)
    with printing():
        with exports.without_commands():
            _print(found, options)
        exports.show_on_github(exported)
    return end_interrupted() if found.interrupted else found.exit_status


def _compared(both: tuple[str, str], options: dict[str, Any]) -> PortComparison:
    from veriformer.adapters.capture.input_files import read_inputs
    from veriformer.conformance_tests.ports.compare_models import compare_models

    inputs = None if options["inputs"] is None else read_inputs(options["inputs"])
    limits = [_limits(source, options["isolation"]) for source in both]
    return compare_models(*both, inputs, isolation=(limits[0], limits[1]), keeps_interrupted=True)


def _limits(source: str, isolation: IsolationOptions) -> ProcessLimits | None:
    from veriformer.adapters.capture.isolated import MODEL_LIMITS

    return isolation.limits(MODEL_LIMITS) if _runs_elsewhere(source, isolation) else None


def _runs_elsewhere(source: str, isolation: IsolationOptions) -> bool:
    from veriformer.adapters.capture.probable import RECORDS

    # A record is read, and runs nowhere.
    return not source.endswith(RECORDS) and is_isolated(source, isolation.isolate)


def _refuse_options() -> None:
    """Raise UserError for options about operations; only now it is known that there are none."""
    context = click.get_current_context()
    given = [
        next(iter(option.opts))
        for option in context.command.params
        if option.name in _ABOUT_OPERATIONS and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE
    ]
    if given:
        raise UserError(
            f"{', '.join(given)}: this is about operations, and models are compared as a whole; leave it out"
        )


def _print(found: PortComparison, options: dict[str, Any]) -> None:
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.reports.ports import port_lines
    from veriformer.conformance_tests.reports.screen import print_lines

    console = standard_output(color=options["color"])
    print_lines(console, port_lines(found, Options(verbose=options["verbose"], width=console.width)))


def _page(found: PortComparison, command: str) -> str:
    from veriformer.conformance_tests.reports.html.pages import port_page

    return port_page(found, command=command)


def _exported(found: PortComparison, exports: Exports) -> list[Outcome]:
    if not exports.wanted:
        return []
    from veriformer.conformance_tests.reports.exports.comparisons import ports_outcome

    return [ports_outcome(found)]


def _write(found: PortComparison, options: dict[str, Any]) -> None:
    from veriformer.conformance_tests.reports.ports_json import write_ports

    if options["json_file"] is not None:
        with writing(options["json_file"]):
            write_ports(options["json_file"], found)
