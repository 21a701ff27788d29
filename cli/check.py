"""`veriformer check`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from veriformer.cli.exports import Exports, export_options
from veriformer.cli.failures import COULD_NOT_RUN, INTERRUPTED, UserError, show_user_error
from veriformer.cli.helpers import pool_for, record_for
from veriformer.cli.interrupted import end_interrupted
from veriformer.cli.isolation import Isolation, IsolationOptions, isolation_options
from veriformer.cli.options import COLOR, OPERATION, SEED, file_option, flag, refuse_files, tier_option, writing
from veriformer.cli.output import printing, standard_output
from veriformer.cli.reporting import REPORT, write_report
from veriformer.cli.seconds import Seconds

if TYPE_CHECKING:
    from veriformer.adapters.asked import Asked
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.conformance_tests.reports.exports.outcome import Outcome
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.run.demands import Demands
    from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
    from veriformer.conformance_tests.run.options import RunOptions
    from veriformer.conformance_tests.run.report import Report

# Options that a model has no use for.
_ABOUT_LAWS = {
    "operations",
    "laws",
    "dtypes",
    "tier",
    "expected_failures",
    "fail_fast",
    "workers",
    "dask",
    "resume",
    "budget",
    "remove_stale",
}


@dataclass(frozen=True)
class Arguments:
    """The arguments and options of the command."""

    implementations: tuple[str, ...]
    operations: tuple[str, ...]
    laws: tuple[str, ...]
    dtypes: tuple[str, ...]
    tier: Any
    seed: int
    json_file: Path | None
    report_file: Path | None
    all_laws: bool
    exports: Exports
    expected_failures: Path | None
    fail_fast: bool
    workers: int
    dask: str | None
    resume: Path | None
    remove_stale: bool
    verbose: bool
    traceback: bool
    color: bool
    isolation: IsolationOptions
    budget: float | None
    asked_operations: tuple[str, ...]
    framework: str | None
    layers_alike: bool
    judged_at_least: float | None


@dataclass
class CheckOutcome:
    """The outcome: a report for each implementation that could be loaded, an error for each of the others."""

    reports: list[Report] = field(default_factory=list)
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def exit_status(self) -> int:
        """The worst of all implementations."""
        if self.interrupted:
            return INTERRUPTED
        statuses = [report.exit_status for report in self.reports]
        return max([*statuses, COULD_NOT_RUN] if self.failures else statuses)


@click.command("check", short_help="Check implementations against the laws, and whole models.")
@click.argument("implementations", metavar="SOURCE...", nargs=-1, required=True)
@OPERATION
@click.option(
    "--as",
    "asked_operations",
    multiple=True,
    metavar="[FUNCTION=]OPERATION",
    help="Judge a function as this operation, whatever it is called (repeatable).",
)
@click.option("--framework", metavar="NAME", help="Whose arrays the functions take, where that is not found rightly.")
@click.option("--law", "laws", multiple=True, metavar="GLOB", help="Only laws whose id matches (repeatable).")
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="NAME", help="Test these dtypes instead of the declared ones."
)
@tier_option("How many calls each law gets.")
@SEED
@file_option("--json", "json_file", meaning="Write the report as JSON too.")
@REPORT
@flag("--all-laws", meaning="List in the JSON the laws that are not declared, too.")
@export_options("junit", "sarif", "markdown")
@file_option("--expected-failures", meaning="A list of known failures, each with its reason.")
@flag("--fail-fast", meaning="Try the most revealing laws first and stop at the first violation.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Try the laws in N processes of this machine.",
)
@click.option("--dask", metavar="ADDRESS", help="Try the laws on the Dask cluster with this scheduler.")
@file_option("--resume", meaning="Save results in this file as they come; a repeated run takes them from it.")
@click.option(
    "--budget",
    type=Seconds(),
    metavar="SECONDS",
    help="Stop after this time, the most revealing laws first; the others are reported as not tried.",
)
@flag("--layers-alike", meaning="The layers of a model are meant to be alike: one that differs departs.")
@click.option(
    "--judged-at-least",
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Exit with 2 where less of a model than this is judged, such as 0.95.",
)
@flag("--remove-stale", meaning="Delete the lines of that list that are no longer true.")
@flag("--verbose", "-v", meaning="Show every case, every convention, and scripts that reproduce violations.")
@flag("--traceback", meaning="Show where the implementation raised.")
@COLOR
@isolation_options
def check_command(**options: Any) -> int:
    """Check implementations against the laws of every operation they declare, and models as they are.

    A SOURCE is an implementation: a built-in name (numpy, torch, jax, flax, equinox, keras, or a variant such as
    torch-math: see `veriformer list implementations`), a file (my_attention.py) or an import path (package.module or
    package.module:object). Several are shown side by side.

    Or it is a whole model: a class, an instance or a function that builds one (model.py:GPT, package.module:build), or
    an exported file (model.onnx). Its parts are recognised, and what departs is named; options about laws do not apply.

    \b
    Examples:
      veriformer check my_attention.py
      veriformer check my_attention.py:attention --as scaled_dot_product_attention
      veriformer check my_gpt.py:GPT --report report.html
      veriformer check numpy torch jax --workers 2 --json report.json

    Exit status: 0 every declared law holds and no model departs, 1 a law is violated or a model departs, 2 it could not
    run, too little of a model was recognised, or --budget was spent before every law was tried.
    """  # noqa: D301 - click reads \b
    arguments = Arguments(**options)
    sources = (*arguments.implementations, *([str(arguments.expected_failures)] if arguments.expected_failures else []))
    files = {"--report": arguments.report_file, "--json": arguments.json_file, **arguments.exports.files}
    refuse_files(files, sources, arguments.resume)
    expected = _read_expected_failures(arguments)
    outcome = _checked(arguments, expected)
    if arguments.remove_stale and arguments.expected_failures is not None and expected is not None:
        outcome = _without_stale(outcome, arguments.expected_failures, expected)
    # The files first: they must not be lost when printing fails.
    _write_json(outcome, arguments)
    write_report(arguments.report_file, partial(_page, outcome, arguments))
    exported = _exported(outcome, arguments.exports)
    arguments.exports.write(exported)
    with printing():
        with arguments.exports.without_commands():
            _print(outcome, arguments)
        arguments.exports.show_on_github(exported)
    if outcome.interrupted:
        return end_interrupted()
    return outcome.exit_status


def _checked(arguments: Arguments, expected: ExpectedFailures | None) -> CheckOutcome:
    from veriformer.adapters.capture.probable import is_probably_a_model
    from veriformer.adapters.errors import LoadError

    # Before the laws are imported, which takes as long as loading an implementation.
    about_laws = _about_laws(arguments.implementations)
    # What is probably a model is not loaded as an implementation, unless it is asked for its laws.
    early = [one for one in arguments.implementations if about_laws or not is_probably_a_model(one)]
    asked = _asked(arguments)
    isolation = Isolation(tuple(early), arguments.isolation, asked, arguments.budget)
    from veriformer.cli.progress import has_bar, progress_bar
    from veriformer.cli.rest_of_file import reports_of
    from veriformer.conformance_tests.run.checking_models import check_model, checked
    from veriformer.conformance_tests.run.demands import Demands
    from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
    from veriformer.conformance_tests.run.options import RunOptions

    outcome, selection = CheckOutcome(), _selection(arguments)
    demands = Demands(arguments.layers_alike, arguments.judged_at_least)
    with (
        record_for(arguments.resume, selection, arguments.implementations) as record,
        pool_for(arguments.workers, arguments.dask) as pool,
        progress_bar(color=arguments.color) as progress,
    ):
        options = RunOptions(
            selection,
            ExpectedFailures.of(expected),
            fail_fast=arguments.fail_fast,
            budget=arguments.budget,
            progress=progress,
            executor=pool,
            resume=record,
            asked=asked or RunOptions.asked,
            keeps_interrupted=True,
            tells_at_once=has_bar(),
        )

        def report_of(source: str) -> Report:
            limits = isolation.limits_of_model(source)
            model = partial(
                check_model, source, seed=arguments.seed, isolation=limits, demands=demands, keeps_interrupted=True
            )
            return checked(source, model, partial(_run, isolation, source, options), about_laws)

        for source in arguments.implementations:
            try:
                outcome.reports += reports_of(source, report_of, whole=not arguments.operations)
            except LoadError as error:
                outcome.failures.append((source, error))
            except KeyboardInterrupt:
                # What is printed is that of the others.
                outcome.interrupted = True
            if outcome.interrupted or any(report.interrupted for report in outcome.reports):
                outcome.interrupted = True
                break
    if outcome.interrupted and not outcome.reports:
        raise KeyboardInterrupt
    _refuse_demands_of_no_model(demands, outcome)
    return outcome


def _refuse_demands_of_no_model(demands: Demands, outcome: CheckOutcome) -> None:
    """Raise UserError where something is asked of models and none was checked: it would be lost without a word."""
    from veriformer.conformance_tests.run.model_report import ModelReport

    given = [f"--{name.replace('_', '-')}" for name in demands.given]
    if given and not outcome.failures and not any(isinstance(one, ModelReport) for one in outcome.reports):
        verb = "is" if len(given) == 1 else "are"
        raise UserError(f"{' and '.join(given)} {verb} asked of whole models, and no source is one: FILE:CLASS")


def _asked(arguments: Arguments) -> Asked | None:
    """Return what the user says of the implementations; UserError for a name that does not exist."""
    if arguments.framework is None and not arguments.asked_operations:
        return None
    from veriformer.adapters.asked import read_asked
    from veriformer.adapters.errors import LoadError

    try:
        return read_asked(arguments.framework, arguments.asked_operations)
    except LoadError as error:
        raise UserError(str(error)) from error


def _run(isolation: Isolation, source: str, options: RunOptions) -> Report:
    from veriformer.conformance_tests.run.checking import run_check

    options = replace(options, began=isolation.began(source))
    return run_check(isolation.target(source), options)


def _about_laws(sources: Sequence[str]) -> tuple[str, ...]:
    """Return the options about laws that were given, none where one of the sources is no model and they are for it."""
    from veriformer.adapters.capture.probable import is_probably_a_model

    if not all(map(is_probably_a_model, sources)):
        return ()
    context = click.get_current_context()
    return tuple(
        next(iter(option.opts))
        for option in context.command.params
        if option.name in _ABOUT_LAWS and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE
    )


def _selection(arguments: Arguments) -> Selection:
    """Return what is to be tried; UserError for a name that does not exist."""
    from veriformer.conformance_tests.core.selection import Selection, UnknownName

    try:
        operations, laws, dtypes = arguments.operations or None, arguments.laws or None, arguments.dtypes or None
        return Selection(operations, laws, dtypes, arguments.tier, arguments.seed)
    except UnknownName as error:
        raise UserError(str(error)) from error


def _read_expected_failures(arguments: Arguments) -> ExpectedFailures | None:
    if arguments.expected_failures is None:
        if arguments.remove_stale:
            raise UserError("--remove-stale changes a list of expected failures; name it with --expected-failures FILE")
        # The laws are not imported yet, so that the implementation starts to load before them.
        return None
    from veriformer.conformance_tests.run.expected_failures import ExpectedFailures, UnreadableList

    try:
        return ExpectedFailures.read(arguments.expected_failures)
    except UnreadableList as error:
        raise UserError(str(error), error) from error


def _without_stale(outcome: CheckOutcome, path: Path, expected: ExpectedFailures) -> CheckOutcome:
    from veriformer.cli.stale import remove_stale, stale_lines

    with writing(path):
        removed = remove_stale(path, expected, outcome.reports)
    click.echo(f"{len(removed)} stale {'line' if len(removed) == 1 else 'lines'} removed from {path}", err=True)
    kept = []
    for report in outcome.reports:
        sentences = zip(report.stale, stale_lines(report), strict=True)
        kept.append(replace(report, stale=tuple(sentence for sentence, line in sentences if line not in removed)))
    return CheckOutcome(kept, outcome.failures, outcome.interrupted)


def _print(outcome: CheckOutcome, arguments: Arguments) -> None:
    from veriformer.cli.presenting import print_reports

    console = standard_output(color=arguments.color)
    print_reports(console, outcome.reports, _options(arguments, console.width))
    for _, error in outcome.failures:
        show_user_error(UserError(str(error), error.__cause__ or error), with_traceback=arguments.traceback)


def _options(arguments: Arguments, width: int) -> Options:
    from veriformer.conformance_tests.reports.options import Options

    repair = ""
    if arguments.expected_failures is not None:
        repair = shlex.join(["veriformer", *(click.get_current_context().obj or ["check"]), "--remove-stale"])
    return Options(verbose=arguments.verbose, traceback=arguments.traceback, width=width, repair=repair)


def _page(outcome: CheckOutcome, arguments: Arguments, command: str) -> str:
    from veriformer.conformance_tests.reports.html.pages import check_page

    failures = [(name, str(error)) for name, error in outcome.failures]
    return check_page(outcome.reports, failures, command=command, seed=arguments.seed, tier=arguments.tier)


def _exported(outcome: CheckOutcome, exports: Exports) -> list[Outcome]:
    if not exports.wanted:
        return []
    from veriformer.conformance_tests.reports.exports.checks import could_not_run, report_outcome

    return [*map(report_outcome, outcome.reports), *(could_not_run(*failure) for failure in outcome.failures)]


def _write_json(outcome: CheckOutcome, arguments: Arguments) -> None:
    from veriformer.conformance_tests.reports.json_report import failure_as_json, report_as_json, write_json

    if arguments.json_file is None:
        return
    objects = [report_as_json(report, all_laws=arguments.all_laws) for report in outcome.reports]
    objects += [
        failure_as_json(name, str(error), seed=arguments.seed, tier=arguments.tier) for name, error in outcome.failures
    ]
    with writing(arguments.json_file):
        write_json(arguments.json_file, objects)
