"""Where an operation is defined in the user's file, found without importing it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from veriformer.conformance_tests.reports.places import shown_file

_LARGEST_FILE = 2_000_000
_MOST_LINES = 24


@dataclass(frozen=True)
class Definition:
    """A function in a file: the number of its first line, and its lines as they stand there."""

    file: str
    line: int
    code: str

    @property
    def place(self) -> str:
        """The file and the line as a reader knows them: "my_attention.py:6"."""
        return f"{shown_file(self.file)}:{self.line}"


def definition_of(source: str | None, operation: str) -> Definition | None:
    """Return the function of an operation in the file of an implementation; None where there is none.

    `source` is "file.py" or "file.py:object"; of several functions of that name, that of the object counts, or else the
    last one.
    """
    file, _, name = (source or "").partition(":")
    text = _text(file)
    if not text:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = _functions(_holder(tree, name), operation) or _functions(tree, operation)
    if not found:
        return None
    first = min([found[-1].lineno, *(one.lineno for one in found[-1].decorator_list)])
    lines = text.splitlines()[first - 1 : found[-1].end_lineno]
    more = [] if len(lines) <= _MOST_LINES else ["…"]
    return Definition(file, first, "\n".join([*lines[:_MOST_LINES], *more]))


def _text(file: str) -> str:
    try:
        path = Path(file)
        if path.suffix != ".py" or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _holder(tree: ast.Module, name: str) -> ast.AST:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name]
    return classes[-1] if classes else tree


def _functions(tree: ast.AST, name: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
