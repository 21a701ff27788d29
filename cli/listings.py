"""`veriformer list`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError, show_broken_packages
from veriformer.cli.output import page_width

if TYPE_CHECKING:
    from veriformer.adapters.built_in import BuiltIn
    from veriformer.conformance_tests.reports.layout import Lines

_KINDS = ("operations", "laws", "conventions", "derivations", "examples", "mistakes", "implementations")


@click.command("list", short_help="List operations, laws, conventions, ...")
@click.argument("what", type=click.Choice(_KINDS), default="operations", metavar="[WHAT]")
@click.option(
    "--operation", "operations", multiple=True, metavar="NAME", help="Only mistakes of this operation (repeatable)."
)
def list_command(what: str, operations: tuple[str, ...]) -> None:
    """List what there is; `veriformer explain ID` says more about each entry.

    WHAT is operations (which need not be said), laws, conventions, derivations, examples, mistakes or implementations.
    """
    from veriformer.cli.output import print_page

    show_broken_packages()
    if what == "mistakes":
        print_page(_mistakes(operations))
        return
    if operations:
        raise UserError(f"--operation selects among mistakes, not among {what}; use: veriformer list mistakes")
    print_page(_LISTINGS[what]())


def _operations() -> Lines:
    from rich.text import Text
    from veriformer.spec.laws import LAWS
    from veriformer.spec.operations import OPERATIONS

    laws = Counter(law.operation.name for law in LAWS.values())
    derived = Counter(law.operation.name for law in LAWS.values() if law.claim.derivation)
    column = max(map(len, OPERATIONS)) + 2
    lines = [Text(f"{'operation':{column}}{'laws':>5}{'derived':>9}", style="bold")]
    for name, operation in OPERATIONS.items():
        row = Text(f"{name:{column}}{laws[name]:>5}{derived[name]:>9}   ")
        lines.append(row.append(operation.summary, style="dim"))
    return [*lines, Text(""), Text(_totals())]


def _totals() -> str:
    from veriformer.conformance_tests.core.text import counted
    from veriformer.spec.conventions import CONVENTIONS
    from veriformer.spec.laws import LAWS
    from veriformer.spec.operations import OPERATIONS

    derived = [law.claim.derivation for law in LAWS.values() if law.claim.derivation is not None]
    return (
        f"{counted(len(OPERATIONS), 'operation')}, {counted(len(LAWS), 'law')} ({len(derived)} of them derived, in "
        f"{counted(len(set(derived)), 'derivation')}), {counted(len(CONVENTIONS), 'convention')}"
    )


def _laws() -> Lines:
    from rich.text import Text
    from veriformer.conformance_tests.reports.layout import entry
    from veriformer.spec.laws import LAWS

    column = max(map(len, LAWS)) + 2
    lines: Lines = []
    operation = ""
    for law in LAWS.values():
        if law.operation.name != operation:
            operation = law.operation.name
            lines += [Text(""), Text(operation, style="bold")] if lines else [Text(operation, style="bold")]
        lines += _row(law.id, law.statement, column)
    return [*lines, Text(""), *entry("", _totals(), page_width(), indent=0, label_width=0)]


def _conventions() -> Lines:
    from veriformer.spec.conventions import CONVENTIONS

    column = max(map(len, CONVENTIONS)) + 2
    lines: Lines = []
    for convention in CONVENTIONS.values():
        values = " · ".join(convention.value_names)
        lines += _row(convention.name, f"{convention.question} {values}", column)
    return lines


def _derivations() -> Lines:
    from veriformer.spec.derivations import derivation_ids, derivation_title

    column = max(map(len, derivation_ids())) + 2
    return [line for name in derivation_ids() for line in _row(name, derivation_title(name), column)]


def _examples() -> Lines:
    from rich.text import Text
    from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES

    column = max(len(example.id) for example in WORKED_EXAMPLES) + 2
    rows = [_row(example.id, f"{example.verdict.value:<12}{example.title}", column) for example in WORKED_EXAMPLES]
    verdicts = Counter(example.verdict.value for example in WORKED_EXAMPLES)
    totals = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    return [line for row in rows for line in row] + [
        Text(""),
        Text(f"{len(WORKED_EXAMPLES)} worked examples: {totals}"),
    ]


def _mistakes(operations: tuple[str, ...]) -> Lines:
    from veriformer.cli.mistake_pages import mistakes_listing

    return mistakes_listing(operations)


def _implementations() -> Lines:
    from veriformer.adapters.built_in import BUILT_IN
    from veriformer.adapters.installation import installation

    column = max(map(len, BUILT_IN)) + 2
    incomplete = any(_missing(built_in) for built_in in BUILT_IN.values())
    lines: Lines = []
    for name, built_in in BUILT_IN.items():
        lines += _row(name, f"{built_in.summary}{_missing(built_in)}", column)
    return [
        *lines,
        *_row("or", "a file (my_attention.py), an import path (package.module, package.module:object)", column),
        *(_row("an extra", f"is installed by {installation().install('EXTRA')}", column) if incomplete else ()),
    ]


def _missing(built_in: BuiltIn) -> str:
    from importlib.util import find_spec

    missing = [package for package in built_in.packages if find_spec(package) is None]
    # No other extra brings the TensorFlow that Keras runs on.
    extra = built_in.name if "tensorflow" in missing else missing[-1] if missing else ""
    return f" (not installed: the extra {extra})" if extra else ""


def _row(name: str, text: str, column: int) -> Lines:
    from veriformer.conformance_tests.reports.layout import entry

    return entry(name, text, page_width(), indent=0, label_width=column)


_LISTINGS: dict[str, Callable[[], Lines]] = {
    "operations": _operations,
    "laws": _laws,
    "conventions": _conventions,
    "derivations": _derivations,
    "examples": _examples,
    "implementations": _implementations,
}
