"""The line at which an operation stands is found in the source, which is not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests.reports.locations import Place, definition, from_root, raised_at, uri_of

SOURCE = """\
raise SystemExit("this file is not to be run")
from elsewhere import gelu, norm as rms_norm
def softmax(x): ...
try:
    @decorated
    def softmax(x): ...
except ImportError:
    silu = lambda x: x
class Base:
    def layer_norm(self): ...
    def rms_norm(self): ...
class Kernels(Base):
    class Inner:
        feed_forward: object = None
    def layer_norm(self): ...
def build():
    def hidden(): ...
kernels = Kernels()
both, other = 1, 2
alias: object = Kernels
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("source", "name", "line"),
    (
        ("mine.py", "softmax", 6),
        ("mine.py", "silu", 8),
        ("mine.py", "gelu", 2),
        ("mine.py", "rms_norm", 2),
        ("mine.py", "norm", 1),
        ("mine.py", "other", 19),
        ("mine.py", "hidden", 1),
        ("mine.py", "", 1),
        ("mine.py:build", "", 16),
        ("mine.py:Kernels", "layer_norm", 15),
        ("mine.py:Kernels", "rms_norm", 11),
        ("mine.py:Kernels.Inner", "feed_forward", 14),
        ("mine.py:kernels", "layer_norm", 15),
        ("mine.py:alias", "rms_norm", 11),
        ("mine.py:kernels", "absent", 18),
        ("mine.py:nothing", "softmax", 1),
        ("mine", "softmax", 6),
        ("mine:Kernels", "layer_norm", 15),
    ),
)
def test_the_line_is_that_of_the_definition(file: Path, monkeypatch, source: str, name: str, line: int) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    assert definition(source, name) == Place(str(file), line)


@pytest.mark.parametrize("source", (None, "", "numpy", "torch-math", "nope.py", "no.such.module", "x\0", "x" * 5000))
def test_what_is_no_file_of_the_user_has_no_line(file: Path, source: str | None) -> None:
    assert definition(source, "softmax") is None


def test_a_file_that_cannot_be_read_has_its_first_line(file: Path) -> None:
    file.write_text("def softmax(:\n")
    assert definition("mine.py", "softmax") == Place(str(file), 1)
    file.write_bytes(b"\xff\x00 not Python")
    assert definition("mine.py", "softmax") == Place(str(file), 1)


def test_classes_that_inherit_from_each_other_end(file: Path) -> None:
    file.write_text("class A(B): ...\nclass B(A): ...\n")
    assert definition("mine.py:A", "softmax") == Place(str(file), 1)


def test_the_line_that_raised_is_the_last_of_the_file(file: Path) -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "/lib/veriformer/calling.py", line 7, in call\n'
        f'  File "{file}", line 6, in softmax\n    helper(x)\n  File "{file}", line 3, in helper\n'
        '  File "/site-packages/numpy/core.py", line 99, in dot\nValueError: no\n'
    )
    assert raised_at("mine.py", traceback) == Place(str(file), 3)
    assert raised_at("mine.py", "ValueError: no") is None
    assert raised_at("numpy", traceback) is None


def test_files_are_named_from_the_root_of_the_repository(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = file.parent / "a b"
    inner.mkdir()
    assert uri_of(str(inner / "ä#.py")) == ("a%20b/%C3%A4%23.py", True)
    monkeypatch.chdir(inner)
    assert from_root(str(file)) is None
    assert uri_of(str(file)) == (file.as_uri(), False)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(file.parent))
    assert from_root(str(file)) == "mine.py"
    assert from_root(str(inner / "x.py")) == "a b/x.py"
