"""Where an operation stands in the user's source, found without importing it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from urllib.parse import quote

from veriformer.adapters.built_in import BUILT_IN
from veriformer.adapters.loading import is_path

_LARGEST_FILE = 10_000_000
_FRAME = re.compile(r'^  File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A line of the user's code; lines count from 1."""

    file: str
    line: int = 1


def definition(source: str | None, name: str = "") -> Place | None:
    """Return where `name` is defined in a source as `veriformer check` takes it; None where that is no file.

    What is assigned or made elsewhere is found as far as the file shows it: at least its first line.
    """
    file, object_path = _file_of(source)
    if file is None:
        return None
    module = _parsed(str(file))
    line, scope = 1, module
    for step in filter(None, [*object_path.split("."), name]):
        found = _binding(scope, step)
        if found is None:
            break
        line, scope = found.lineno, _members(found, module)
    return Place(str(file), line)


def raised_at(source: str | None, traceback: str) -> Place | None:
    """Return the last line of the user's file in a traceback; None where it has none."""
    file, _ = _file_of(source)
    if file is None:
        return None
    frames = [frame for frame in _FRAME.finditer(traceback) if _resolved(frame["file"]) == file]
    return Place(str(file), int(frames[-1]["line"])) if frames else None


def from_root(file: str) -> str | None:
    """Return a file as seen from the root of the repository, with slashes; None for one outside of it.

    The root is what GitHub says, else the working directory.
    """
    path = _resolved(file)
    for root in filter(None, (os.environ.get("GITHUB_WORKSPACE"), os.getcwd())):
        try:
            return path.relative_to(_resolved(root)).as_posix()
        except ValueError:
            continue
    return None


def uri_of(file: str) -> tuple[str, bool]:
    """Return the URI of a file, and whether it begins at the root of the repository."""
    inside = from_root(file)
    return (_resolved(file).as_uri(), False) if inside is None else (quote(inside), True)


def _resolved(file: str) -> Path:
    try:
        return Path(file).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        return Path(file)


def _file_of(source: str | None) -> tuple[Path | None, str]:
    """Return the file of a source and the object in it; None where it is built in, or no file of Python."""
    if not source or source in BUILT_IN:
        return None, ""
    place, _, object_path = source.partition(":")
    path = _resolved(place) if is_path(place) else _module_file(place)
    readable = path is not None and path.suffix == ".py" and _is_small(path)
    return (path, object_path) if readable else (None, "")


def _is_small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST_FILE
    except (OSError, ValueError):
        return False


def _module_file(import_path: str) -> Path | None:
    """Return the file of a module of the user; None for one of this package, or one that is not found."""
    if import_path.partition(".")[0] == "veriformer":
        return None
    search: Sequence[str] | None = None
    spec = None
    parts = import_path.split(".")
    for number in range(len(parts)):
        try:
            spec = PathFinder.find_spec(".".join(parts[: number + 1]), search)
        except (ImportError, ValueError):
            return None
        if spec is None:
            return None
        search = spec.submodule_search_locations
    return _resolved(spec.origin) if spec is not None and spec.origin else None


def _parsed(file: str) -> tuple[ast.stmt, ...]:
    try:
        return tuple(ast.parse(Path(file).read_bytes()).body)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, those in branches included."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody", "handlers"):
            inside = getattr(statement, part, ())
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _statements(inside)


def _binding(scope: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """Return the statement that gives a name its last value in a scope."""
    found = [statement for statement in _statements(scope) if name in _names(statement)]
    return found[-1] if found else None


def _names(statement: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _members(found: ast.stmt, module: Sequence[ast.stmt], depth: int = 8) -> tuple[ast.stmt, ...]:
    """Return the statements that give an object its members: a class's own after those of its bases."""
    if isinstance(found, ast.ClassDef):
        bases = [base.id for base in found.bases if isinstance(base, ast.Name)]
        return (*_inherited(reversed(bases), module, depth), *found.body)
    made_by = found.value if isinstance(found, ast.Assign | ast.AnnAssign) else None
    made_by = made_by.func if isinstance(made_by, ast.Call) else made_by
    return _inherited([made_by.id], module, depth) if isinstance(made_by, ast.Name) else ()


def _inherited(names: Iterator[str] | Sequence[str], module: Sequence[ast.stmt], depth: int) -> tuple[ast.stmt, ...]:
    if not depth:
        return ()
    classes = (_binding(module, name) for name in names)
    return tuple(member for one in classes if one is not None for member in _members(one, module, depth - 1))
