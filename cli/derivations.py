"""`veriformer derive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.layout import Lines
    from veriformer.spec.derivations.derivation import Derivation
    from veriformer.spec.derivations.results import DerivationResult, StepResult

_WIDTH = 100


@click.command("derive", short_help="Check the derivations that prove the laws.")
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--markdown", is_flag=True, help="Print the derivation with its formulas as Markdown.")
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
def derive_command(identifier: str | None, markdown: bool, traceback: bool) -> int:
    """Check one derivation, or all: prove each step, evaluate it, and try to prove altered statements.

    Exit status: 0 every step holds, 1 one does not, 2 it could not run.
    """
    from veriformer.cli.output import print_page

    results = []
    for derivation in _chosen(identifier):
        result = derivation.check()
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


def _lines(derivation: Derivation, result: DerivationResult) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.layout import entry, paragraph

    lines = [Text(derivation.id, style="bold").append(f"   {derivation.title}", style="not bold")]
    lines += paragraph(f"holds for {derivation.scope.meaning}", _WIDTH, 2, "dim")
    for number, (step, checked) in enumerate(zip(derivation.steps, result.steps, strict=True), 1):
        lines += _step(number, _name_of(step.method), checked)
    for method in dict.fromkeys(step.method for step in derivation.steps):
        lines += entry("", method, _WIDTH, indent=2, label_width=0, style="dim")
    return [*lines, Text("")]


def _name_of(method: str) -> str:
    """Return a method without what it rests on, which is said once for all steps."""
    return method.partition(" (")[0]


def _step(number: int, method: str, checked: StepResult) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.layout import paragraph

    mark, style = ("✓", "green") if checked.holds else ("✗", "bold red")
    line = Text(f"  {mark} ", style=style)
    line.append(f"{number}. {checked.step}", style="default").append(f"   {checked.seconds:.2f} s", style="dim")
    if checked.holds:
        told = f"proved by {method}; {checked.spot_check.detail}; {checked.vacuity.detail}"
        return [line, *paragraph(told, _WIDTH, 6, "dim")]
    reasons = [
        checked.statement,
        "" if checked.proved else f"not proved: {checked.proof.detail}",
        "" if checked.spot_checked else f"not confirmed: {checked.spot_check.detail}",
        "" if checked.not_vacuous else f"vacuous: {checked.vacuity.detail}",
    ]
    return [line, *(row for reason in reasons for row in paragraph(reason, _WIDTH, 6, "red"))]


def _total(results: list[DerivationResult]) -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.text import counted

    steps = sum(len(result.steps) for result in results)
    failed = sum(len(result.failures) for result in results)
    seconds = sum(result.seconds for result in results)
    outcome = "all hold" if not failed else f"{failed} {'does' if failed == 1 else 'do'} not hold"
    told = f"{counted(len(results), 'derivation')}, {counted(steps, 'step')}: {outcome} ({seconds:.1f} s)"
    return [Text(told, style="bold red" if failed else "bold green")]
