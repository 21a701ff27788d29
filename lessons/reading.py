"""Reading an answer before it runs: what is missing gets a sentence, and nothing runs for it."""

from __future__ import annotations

import ast
from pathlib import Path

from veriformer.lessons.exercise import Exercise

_MOST_BYTES = 1_000_000


class NotBegun(Exception):
    """Nothing has been written yet; the message says so."""


class Unclear(Exception):
    """The answer cannot be graded; the message says why and what to do."""


def read_program(path: Path, exercise: Exercise) -> str:
    """Return the text of an answer that can be tried; NotBegun or Unclear where it cannot."""
    text = read_text(path)
    if not text.strip():
        raise Unclear(f"{path.name} is empty; veriformer learn new writes it again if you delete it")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Unclear(f"{path.name} is no Python: {error.msg}, line {error.lineno}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unclear(f"{path.name} cannot be read as Python ({type(error).__name__}); write it again") from error
    _refuse_missing(tree, path, exercise)
    if not _is_begun(tree, exercise):
        raise NotBegun(f"nothing has been written in {path.name} yet")
    return text


def read_text(path: Path) -> str:
    """Return the text of an answer; NotBegun without a file, Unclear where it cannot be read."""
    if not path.exists():
        raise NotBegun(f"there is no file {path.name}; veriformer learn new writes it")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Unclear(f"{path.name} has more than {_MOST_BYTES:,} bytes; an answer is a small file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unclear(f"{path.name} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Unclear(f"{path.name} is not text in UTF-8; save it as such") from error


def _refuse_missing(tree: ast.Module, path: Path, exercise: Exercise) -> None:
    """Raise Unclear where nothing in a file is called what the exercise asks for."""
    names = names_of(tree)
    if exercise.operation in names:
        return
    from veriformer.adapters.spelling import suggestion

    known = [name for name in names if not name.startswith("_")]
    hint = suggestion(exercise.operation, known, cutoff=0.5).replace("did you mean", "is it")
    raise Unclear(f"{path.name} has no function {exercise.operation}{hint}; the exercise asks for that name")


def names_of(tree: ast.Module) -> list[str]:
    """Return the names that a module gets, as far as its text shows them."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    return names


def _is_begun(tree: ast.Module, exercise: Exercise) -> bool:
    """Return whether the function, or the class, does more than say that it is not implemented."""
    wanted = exercise.class_name or exercise.operation
    found = [node for node in tree.body if getattr(node, "name", "") in (wanted, exercise.operation)]
    bodies = [
        function
        for node in found
        for function in ast.walk(node)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return not any(map(_only_refuses, bodies)) or not bodies


def _only_refuses(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = [one for one in function.body if not isinstance(one, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.dump(body[0])
