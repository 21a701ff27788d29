"""The code of an operation in the user's file, found without importing it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from veriformer.conformance_tests.reports.exports.outcome import Place
from veriformer.conformance_tests.reports.exports.places import definition
from veriformer.conformance_tests.reports.places import shown_file

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


def definition_of(source: str | None, operation: str) -> Definition | None:
    """Return the function of an operation; None where there is no such file, or none that can be read.

    `source` is what an implementation was loaded from, such as "file.py:object".
    """
    at = definition(source, operation)
    if at is None:
        return None
    try:
        text = Path(at.file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    found = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.lineno == at.line]
    if not found or found[0].name != operation:
        return None
    first = min([found[0].lineno, *(decorator.lineno for decorator in found[0].decorator_list)])
    lines = text.splitlines()[first - 1 : found[0].end_lineno]
    more = [] if len(lines) <= _MOST_LINES else ["…"]
    return Definition(at, "\n".join([*lines[:_MOST_LINES], *more]))
