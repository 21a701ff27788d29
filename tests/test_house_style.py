"""What the house style counts: the length of functions, and docstrings of what is public."""

from __future__ import annotations

import ast
import inspect
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from veriformer import conformance_tests
from veriformer.conformance_tests.core.suite import KindOfInputs

ROOT = Path(__file__).resolve().parents[1]
LINES_OF_A_FUNCTION = 60


def python_files() -> list[Path]:
    """Return the Python files of the repository, whether or not they are committed, without what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if not _hidden(path)]
    return sorted(ROOT / name for name in listed if (ROOT / name).exists())


def _hidden(path: Path) -> bool:
    built = ("build", "dist", "documentation")
    return any(part.startswith(".") or part in built for part in path.relative_to(ROOT).parts)


def long_functions(source: str) -> list[str]:
    """Return the functions with too long a body, docstring included, each with its number of lines."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = [(node.name, (node.end_lineno or 0) - node.body[0].lineno + 1) for node in functions]
    return [f"{name}: {length} lines" for name, length in lengths if length > LINES_OF_A_FUNCTION]


def test_the_files_are_found() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in python_files()}
    assert {"tests/test_house_style.py", "conformance_tests/search/search.py", "docs/build.py"} <= found
    assert len(found) > 300


def test_no_function_is_too_long() -> None:
    found = {path.relative_to(ROOT).as_posix(): long_functions(path.read_text("utf-8")) for path in python_files()}
    assert {name: functions for name, functions in found.items() if functions} == {}


@pytest.mark.parametrize(("lines", "is_long"), ((LINES_OF_A_FUNCTION, False), (LINES_OF_A_FUNCTION + 1, True)))
def test_a_long_function_is_seen(lines: int, is_long: bool) -> None:
    source = "class Holder:\n    def work(\n        self,\n    ):\n" + "        x = 1\n" * lines
    assert long_functions(source) == ([f"work: {lines} lines"] if is_long else [])


def undocumented(kind: type) -> Iterator[str]:
    """Yield the public members of a class that have no docstring, neither their own nor that of what they override."""
    for name, member in dict(vars(kind)).items():
        is_field = name in kind.__annotations__
        if (
            name.startswith("_")
            or is_field
            or not (inspect.isfunction(member) or isinstance(member, property | classmethod))
        ):
            continue
        # `KindOfInputs` has what classes of inputs are asked for.
        if not any(getattr(vars(base).get(name), "__doc__", None) for base in (*kind.__mro__, KindOfInputs)):
            yield f"{kind.__module__}.{kind.__qualname__}.{name}"


def test_every_public_member_has_a_docstring_or_overrides_one_that_has() -> None:
    """The linter asks it of all rooms but this, whose classes override much of what their bases document."""
    names = [module.name for module in walk_packages(conformance_tests.__path__, f"{conformance_tests.__name__}.")]
    modules = [import_module(name) for name in names if ".mistakes.sources" not in name]
    kinds = {
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and not kind.__name__.startswith("_")
    }
    own = [kind for kind in kinds if kind.__module__.startswith(conformance_tests.__name__)]
    assert len(own) > 100
    assert sorted(name for kind in own for name in undocumented(kind)) == []


def test_a_member_without_a_docstring_is_seen() -> None:
    class Base:
        def documented(self) -> None:
            """Do nothing."""

    class Derived(Base):
        def documented(self) -> None: ...

        def silent(self) -> None: ...

        @property
        def mute(self) -> int:
            return 1

    assert [name.rpartition(".")[2] for name in undocumented(Derived)] == ["silent", "mute"]
