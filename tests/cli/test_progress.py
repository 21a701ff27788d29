"""The progress bar: on a terminal's stderr only, and outside what is captured from the implementation."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest
from veriformer.cli.progress import progress_bar
from veriformer.conformance_tests.run.pace import Progress


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


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_what_a_slow_run_will_take_is_written_once_and_past_what_is_captured(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as show, contextlib.redirect_stderr(captured):
        show(Progress("mine[/].py", "softmax.shape", 3, 10))
        show(Progress("mine[/].py", "softmax.shape", 3, 10, forecast="about 4 minutes: a call takes 0.8 s"))
    assert stream.getvalue().count("mine[/].py will take about 4 minutes: a call takes 0.8 s") == 1
    assert captured.getvalue() == ""
