"""Two sides of a comparison have names that a reader can tell apart."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from veriformer.conformance_tests.core.naming import shortened, told_apart

BOTH = ("attention", "attention")
SOURCE = "def attention(x):\n    return x\n"


def defined(module: str, source: str = SOURCE, file: str = "<string>") -> Any:
    """Return the function of a module of this name and file."""
    found = ModuleType(module)
    exec(compile(source, file, "exec"), vars(found))
    return found.attention  # type: ignore[attr-defined]


def test_names_that_differ_stay() -> None:
    assert told_apart(("a.py", "b.py"), ("a.py", "b.py")) == ("a.py", "b.py")


def test_functions_are_told_apart_by_their_modules() -> None:
    assert told_apart(BOTH, (defined("mine"), defined("theirs"))) == ("mine.attention", "theirs.attention")


def test_partial_functions_and_pairs_are_told_apart_by_what_they_hold() -> None:
    targets = partial(defined("mine")), (defined("theirs"), {})
    assert told_apart(BOTH, targets) == ("mine.attention", "theirs.attention")


def test_functions_are_told_apart_by_what_they_stand_in() -> None:
    class Slow:
        def attention(self) -> None: ...

    class Fast:
        def attention(self) -> None: ...

    first, second = told_apart(BOTH, (Slow().attention, Fast().attention))
    assert (first.split(".")[-2:], second.split(".")[-2:]) == (["Slow", "attention"], ["Fast", "attention"])


def test_modules_of_one_name_are_told_apart_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "port.py").write_text(SOURCE)
    functions = [defined("port", file=str(tmp_path / name / "port.py")) for name in ("old", "new")]
    assert told_apart(BOTH, (functions[0], functions[1])) == ("old/port.py:attention", "new/port.py:attention")


def test_functions_of_one_file_are_told_apart_by_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "port.py").write_text(SOURCE + SOURCE)
    functions = [defined("port", "\n" * line + SOURCE, str(tmp_path / "port.py")) for line in (0, 2)]
    assert told_apart(BOTH, (functions[0], functions[1])) == ("port.py:1:attention", "port.py:3:attention")


@pytest.mark.parametrize("targets", [({}, {}), (SimpleNamespace(), SimpleNamespace()), (1.5, 2.5)])
def test_what_nothing_tells_apart_is_the_first_and_the_second(targets: tuple[object, object]) -> None:
    assert told_apart(("it", "it"), targets) == ("the first", "the second")


def test_what_is_named_twice_keeps_its_name() -> None:
    assert told_apart(("torch", "torch"), ("torch", "torch")) == ("torch", "torch")
    assert told_apart(("torch", "torch"), ("torch", defined("torch"))) == ("the first", "the second")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a.py", "b.py"), ("a.py", "b.py")),
        (("project/kernels/rotary.py", "b.py"), ("…oject/kernels/rotary.py", "b.py")),
        (
            ("old/of_the_kernels/rotary.py", "new/of_the_kernels/rotary.py"),
            ("old/of_the…s/rotary.py", "new/of_the…s/rotary.py"),
        ),
        (
            ("/home/me/old/of_the_kernels/rotary.py", "/home/me/new/of_the_kernels/rotary.py"),
            ("…old/of_the…s/rotary.py", "…new/of_the…s/rotary.py"),
        ),
        (("same" * 9, "same" * 9), (f"…{('same' * 9)[-23:]}",) * 2),
        (("a" * 30, "a" * 40), ("a" * 10 + "…" + "a" * 11,) * 2),
    ],
)
def test_short_names_keep_what_tells_them_apart(names: tuple[str, str], expected: tuple[str, str]) -> None:
    assert shortened(names, 24) == expected
    assert max(map(len, expected)) <= 24
