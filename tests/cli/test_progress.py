"""The progress bar: on a terminal's stderr only, and outside what is captured from the implementation."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest
from veriformer.cli.progress import progress_bar
from veriformer.conformance_tests.runner import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_law_that_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, captured = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as show:
        show(Progress("mine[/].py", "softmax.shape", 3, 10))
        with contextlib.redirect_stderr(captured), contextlib.redirect_stdout(captured):
            show(Progress("mine[/].py", "softmax.dtype", 4, 10))
    assert "mine[/].py" in stream.getvalue()
    assert "softmax.dtype" in stream.getvalue()
    assert "4/10" in stream.getvalue()
    assert captured.getvalue() == ""


def test_elsewhere_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar() as show:
        show(Progress("mine.py", "softmax.shape", 3, 10))
    assert stream.getvalue() == ""
