"""`veriformer derive`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError
from veriformer.cli.output import page_width

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.layout import Lines
    from veriformer.spec.derivations.derivation import Derivation, Step
    from veriformer.spec.derivations.results import DerivationResult, StepResult


@click.command("derive", short_help="Check the derivations that prove the laws.")
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--markdown", is_flag=True, help="Print the derivation with its formulas as Markdown.")
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0.001, max=86400),
    default=30.0,
    help="The processor time of a step.",
)
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1, max=1024), help="Processes; by default one per core."
)
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
def derive_command(
    identifier: str | None, markdown: bool, time_limit: float, workers: int | None, traceback: bool
) -> int:
    """Check one derivation, or all: prove each step, evaluate it, and try to prove altered statements.

    A step that takes more processor time than the time limit does not hold.

    Exit status: 0 every step holds, 1 one does not, 2 it could not run.
    """
    from veriformer.cli.output import print_page

    results = []
    for derivation, result in _checked(_chosen(identifier), time_limit, workers):
        results.append(result)
        if markdown:
            from veriformer.spec.derivations import render_markdown

            click.echo(render_markdown(derivation, result))
        else:
            print_page(_lines(derivation, result))
    if not markdown:
        print_page(_total(results))
    return 0 if all(result.holds for result in results) else 1


def _chosen(identifier: str | None) -> list[Derivation]:
    from veriformer.spec.derivations import UnknownDerivationError, derivation_ids, load_derivation

    try:
        return [load_derivation(name) for name in ([identifier] if identifier else derivation_ids())]
    except UnknownDerivationError as error:
        raise UserError(f"{error} (see: veriformer list derivations)") from error


def _checked(
    derivations: list[Derivation], limit: float, workers: int | None
) -> Iterator[tuple[Derivation, DerivationResult]]:
    """Yield each derivation with its result, in order; several are checked in parallel processes."""
    processes = min(len(derivations), workers or os.cpu_count() or 1)
    if processes == 1:
        yield from ((derivation, derivation.check(limit)) for derivation in derivations)
        return
    with ProcessPoolExecutor(processes) as executor:
        under_way = [executor.submit(_check, derivation.id, limit) for derivation in derivations]
        try:
            for derivation, future in zip(derivations, under_way, strict=True):
                yield derivation, future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _check(identifier: str, limit: float) -> DerivationResult:
    from veriformer.spec.derivations import load_derivation

    return load_derivation(identifier).check(limit)


def _lines(derivation: Derivation, result: DerivationResult) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.layout import entry, paragraph

    lines = [Text(derivation.id, style="bold").append(f"   {derivation.title}", style="not bold")]
    lines += paragraph(f"holds for {derivation.scope.meaning}", page_width(), 2, "dim")
    for number, (step, checked) in enumerate(zip(derivation.steps, result.steps, strict=True), 1):
        lines += _step(number, step, checked)
    for method in dict.fromkeys(step.method for step in derivation.steps if step.method != step.short_method):
        lines += entry("", method, page_width(), indent=2, label_width=0, style="dim")
    return [*lines, Text("")]


def _step(number: int, step: Step, checked: StepResult) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.layout import paragraph

    mark, style = ("✓", "green") if checked.holds else ("✗", "bold red")
    line = Text(f"  {mark} ", style=style)
    line.append(f"{number}. {checked.step}", style="default").append(f"   {checked.seconds:.2f} s", style="dim")
    lines = [
        line,
        *(paragraph(f"given {'; '.join(step.hypotheses)}", page_width(), 6, "dim") if step.hypotheses else []),
    ]
    if checked.holds:
        proved = "holds by" if step.holds_by_evaluation else "proved by"
        text = f"{proved} {step.short_method}; {checked.spot_check.detail}; {checked.vacuity.detail}"
        return [*lines, *paragraph(text, page_width(), 6, "dim")]
    reasons = [
        checked.statement,
        "" if checked.proved else f"not proved: {checked.proof.detail}",
        "" if checked.spot_checked else f"not confirmed: {checked.spot_check.detail}",
        "" if checked.not_vacuous else f"vacuous: {checked.vacuity.detail}",
    ]
    return [*lines, *(row for reason in reasons for row in paragraph(reason, page_width(), 6, "red"))]


def _total(results: list[DerivationResult]) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.core.text import counted

    steps = sum(len(result.steps) for result in results)
    failed = sum(len(result.failures) for result in results)
    seconds = sum(result.seconds for result in results)
    outcome = "all hold" if not failed else f"{failed} {'does' if failed == 1 else 'do'} not hold"
    text = f"{counted(len(results), 'derivation')}, {counted(steps, 'step')}: {outcome} ({seconds:.1f} s)"
    return [Text(text, style="bold red" if failed else "bold green")]
