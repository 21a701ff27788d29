"""The code of an operation in the user's file, found without importing it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from veriformer.conformance_tests.reports.locations import Place, definition
from veriformer.conformance_tests.reports.places import shown_file
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.run.report import Report

_MOST_LINES = 24


@dataclass(frozen=True)
class Definition:
    """A function in a file: where it is, and its lines as they stand there."""

    at: Place
    code: str

    @property
    def place(self) -> str:
        """The file and the line as a reader knows them: "my_attention.py:6"."""
        return f"{shown_file(self.at.file)}:{self.at.line}"


def function_of(operation: str, derived: Mapping[str, str], taken_as: Mapping[str, str]) -> str:
    """Return the name of the function that an operation is; of a derived operation, that of the forward pass."""
    forward = derived.get(operation, operation)
    return next((function for function, taken in taken_as.items() if taken == forward), forward)


def place_in(report: Report, operation: str) -> Place | None:
    """Return where the function of an operation stands in the user's file; None where that is no file."""
    return definition(target(report), function_of(operation, report.derived, report.taken_as))


def place_words(report: Report, operation: str) -> str:
    """Return where the function of an operation stands as a reader knows it: "my_attention.py:6"; empty for no file."""
    found = place_in(report, operation)
    return f"{shown_file(found.file)}:{found.line}" if found else ""


def definition_of(source: str | None, function: str) -> Definition | None:
    """Return a function of a file; None where there is no such file, or none that can be read.

    `source` is what an implementation was loaded from, such as "file.py:object".
    """
    at = definition(source, function)
    if at is None:
        return None
    try:
        text = Path(at.file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    found = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.lineno == at.line]
    if not found or found[0].name != function:
        return None
    first = min([found[0].lineno, *(decorator.lineno for decorator in found[0].decorator_list)])
    lines = text.splitlines()[first - 1 : found[0].end_lineno]
    more = [] if len(lines) <= _MOST_LINES else ["…"]
    return Definition(at, "\n".join([*lines[:_MOST_LINES], *more]))
