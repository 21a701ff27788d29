"""`veriformer compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from veriformer.cli.exports import export_options
from veriformer.cli.failures import UserError
from veriformer.cli.interrupted import end_interrupted
from veriformer.cli.isolation import Isolation, isolation_options
from veriformer.cli.options import COLOR, OPERATION, SEED, file_option, flag, refuse_files, tier_option, writing
from veriformer.cli.output import printing, standard_output
from veriformer.cli.reporting import REPORT, write_report

if TYPE_CHECKING:
    from veriformer.cli.exports import Exports
    from veriformer.conformance_tests.comparison.comparison import Comparison
    from veriformer.conformance_tests.reports.exports.outcome import Outcome

# The names of two models, and what is to be said of them.
Models = tuple[tuple[str, str], tuple[str, ...]]
_FOR_MODELS = "--inputs is for whole models; name both as model.py:build or model.onnx"


@click.command("compare", short_help="Compare an implementation or a whole model with its port.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@OPERATION
@click.option("--dtype", "dtypes", multiple=True, metavar="NAME", help="Use these dtypes instead of the common ones.")
@tier_option("How many cases each operation gets.")
@SEED
@file_option("--inputs", meaning="Run models on the arrays in this .npz or .npy file.")
@file_option("--json", "json_file", meaning="Write the comparison as JSON too.")
@REPORT
@export_options("junit", "sarif", "markdown")
@flag("--verbose", "-v", meaning="Show every convention and more of what differs.")
@flag("--traceback", meaning="Show where an implementation raised while it was loaded.")
@COLOR
@isolation_options
def compare_command(**options: Any) -> int:
    """Compare two implementations: a framework and its port, two versions, a kernel and its model. Or two whole models.

    A and B are named as for `veriformer check`. Both get the same cases of every operation that both have, each in its
    own layout and mask polarity. Where they differ, the report shows the smallest case, which of the two obeys the
    laws, and what B must change to match A.

    Two whole models (model.py:build, model.onnx, or a record that `veriformer capture` wrote) are run on the same
    inputs, each with its own weights. The report shows which parts belong together, which weights are not as they
    were, where and why the models differ, and what B must change. Options about operations do not apply.

    \b
    Examples:
      veriformer compare torch my_port.py
      veriformer compare before.py after.py --operation scaled_dot_product_attention
      veriformer compare torch_gpt.py:build flax_gpt.py:build --inputs tokens.npz --report report.html

    Exit status: 0 they agree in every operation that both have, or in their results; 1 they differ; 2 nothing could be
    compared.
    """  # noqa: D301 - click reads \b
    both = (options["first"], options["second"])
    sources = (*both, *([str(options["inputs"])] if options["inputs"] else []))
    files = {"--report": options["report_file"], "--json": options["json_file"], **options["exports"].files}
    refuse_files(files, sources)
    from veriformer.adapters.capture.probable import is_probably_a_model

    mixed: UserError | None = None
    if any(is_probably_a_model(one) for one in both):
        from veriformer.cli.compare_models import OneIsNoModel, compare_named_models

        try:
            status = compare_named_models(options)
        except OneIsNoModel as no_model:
            status, mixed = None, no_model
        if status is not None:
            return status
    if options["inputs"] is not None and not _are_files(both):
        raise mixed or UserError(_FOR_MODELS)
    exports: Exports = options["exports"]
    with exports.written_without_result(both):
        comparison = _compared_or_models(options, mixed)
    if isinstance(comparison, tuple):
        return _compared_as_models(comparison, options)
    if comparison.interrupted and not comparison.operations:
        raise KeyboardInterrupt
    _write(comparison, options["json_file"])
    write_report(options["report_file"], lambda command: _page(comparison, command))
    with exports.written_without_result(both):
        _refuse_nothing(comparison)
    exported = _exported(comparison, exports)
    exports.write(exported)
    with printing():
        with exports.without_commands():
            _print(comparison, verbose=options["verbose"], color=options["color"])
        exports.show_on_github(exported)
    if comparison.interrupted:
        return end_interrupted()
    return comparison.exit_status


def _are_files(both: tuple[str, str]) -> bool:
    return all(source.endswith(".py") for source in both)


def _compared_or_models(options: dict[str, Any], mixed: UserError | None) -> Comparison | Models:
    """Return the comparison of two implementations; of two files without operations their models, with notices.

    `mixed` says that one of the two is no model, which is raised where one is no implementation either.
    """
    from veriformer.adapters.errors import NoOperations
    from veriformer.cli.compare_files import models_meant, with_classes_named

    both = options["first"], options["second"]
    try:
        comparison = _compared(options)
    except NoOperations as none:
        if mixed is not None:
            raise mixed from none
        return models_meant(both, none)
    if options["inputs"] is not None:
        raise UserError(_FOR_MODELS)
    return with_classes_named(comparison, both)


def _compared_as_models(models: Models, options: dict[str, Any]) -> int:
    """Compare the models of two files and return the exit status."""
    from veriformer.cli.compare_models import compare_named_models

    names, notices = models
    status = compare_named_models({**options, "first": names[0], "second": names[1]}, notices)
    if status is None:
        raise UserError(f"{names[0]} and {names[1]} are neither models nor implementations of operations")
    return status


def _compared(options: dict[str, Any]) -> Comparison:
    both = options["first"], options["second"]
    isolation = Isolation(both, options["isolation"])
    from veriformer.adapters.errors import LoadError, NoOperations
    from veriformer.cli.progress import progress_bar
    from veriformer.conformance_tests.comparison.comparing import compare_implementations
    from veriformer.conformance_tests.core.selection import UnknownName

    try:
        with (
            isolation.loaded(both[0]) as first,
            isolation.loaded(both[1]) as second,
            progress_bar(color=options["color"]) as progress,
        ):
            return compare_implementations(
                first,
                second,
                operations=options["operations"] or None,
                dtypes=options["dtypes"] or None,
                tier=options["tier"],
                seed=options["seed"],
                progress=progress,
                keeps_interrupted=True,
            )
    except UnknownName as error:
        raise UserError(str(error)) from error
    except NoOperations:
        # Its file may have models.
        raise
    except LoadError as error:
        raise UserError(str(error), error.__cause__ or error) from error


def _refuse_nothing(comparison: Comparison) -> None:
    """Raise UserError where nothing could be compared."""
    from veriformer.conformance_tests.reports.two_implementations import why_nothing

    if not comparison.compared:
        raise UserError(why_nothing(comparison))


def _print(comparison: Comparison, *, verbose: bool, color: bool) -> None:
    from rich.text import Text
    from veriformer.conformance_tests.reports.options import Options
    from veriformer.conformance_tests.reports.two_implementations import comparison_page

    console = standard_output(color=color)
    for part in comparison_page(comparison, Options(verbose=verbose, width=console.width)):
        console.print(part, soft_wrap=isinstance(part, Text))


def _page(comparison: Comparison, command: str) -> str:
    from veriformer.conformance_tests.reports.html.pages import comparison_page

    return comparison_page(comparison, command=command)


def _exported(comparison: Comparison, exports: Exports) -> list[Outcome]:
    if not exports.wanted:
        return []
    from veriformer.conformance_tests.reports.exports.comparisons import comparison_outcome

    return [comparison_outcome(comparison)]


def _write(comparison: Comparison, path: Path | None) -> None:
    from veriformer.conformance_tests.reports.comparison_json import write_comparison

    if path is None:
        return
    with writing(path):
        write_comparison(path, comparison)
