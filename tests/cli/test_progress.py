"""The progress bar: on a terminal's stderr only, and outside what is captured from the implementation."""

from __future__ import annotations

import contextlib
import io
import os
import re
import struct
import subprocess
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
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as show:
        show(Progress("mine[/].py", "softmax.shape", 3, 10))
        with contextlib.redirect_stderr(captured), contextlib.redirect_stdout(captured):
            show(Progress("mine[/].py", "softmax.dtype", 4, 10))
    assert "mine[/].py" in stream.getvalue()
    assert "softmax.dtype" in stream.getvalue()
    assert "4/10" in stream.getvalue()
    assert captured.getvalue() == ""


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_bar_is_one_line_of_any_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    with progress_bar(color=False) as show:
        show(Progress("docs/examples/my_long_attention.py", "scaled_dot_product_attention.causal.no_future", 30, 754))
    shown = [line for line in re.split(r"[\r\n]|\x1b\[[0-9;?]*[A-Za-z]", stream.getvalue()) if line.strip()]
    assert any("30/754" in line for line in shown)
    assert max(map(len, shown)) <= columns
    # At the end one line is taken back, before that none.
    assert stream.getvalue().count("\x1b[1A") == 1


SHOWN_AT_A_TERMINAL = """
from veriformer.cli.progress import progress_bar
from veriformer.conformance_tests.run.pace import Progress
with progress_bar() as show:
    show(Progress("docs/examples/my_long_attention.py", "attention.causal.no_future_leak", 30, 754))
"""


def test_a_real_terminal_of_forty_columns_gets_one_line() -> None:
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-c", SHOWN_AT_A_TERMINAL]
    subprocess.run(command, stdin=theirs, stderr=theirs, env={**environment, "TERM": "xterm"}, timeout=60, check=True)
    written = os.read(ours, 65536).decode()
    os.close(theirs)
    os.close(ours)
    shown = [line for line in re.split(r"[\r\n]|\x1b\[[0-9;?]*[A-Za-z]", written) if line.strip()]
    assert "30/754" in " ".join(shown)
    assert max(map(len, shown)) <= 40
    assert written.count("\x1b[1A") == 1


def test_a_terminal_that_takes_no_line_back_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with progress_bar() as show:
        show(Progress("mine.py", "softmax.shape", 3, 10))
        assert stream.getvalue() == ""
        show(Progress("mine.py", "softmax.shape", 3, 10, forecast="about 4 minutes"))
    assert stream.getvalue() == "mine.py will take about 4 minutes\n"


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_the_bar_obeys_no_color(no_color: str, coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", no_color)
    with progress_bar() as show:
        show(Progress("mine.py", "softmax.shape", 3, 10))
    colours = re.findall(r"\x1b\[(?:\d+;)*(?:3[0-9]|38;[0-9;]+|9[0-7])m", stream.getvalue())
    assert bool(colours) == coloured


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
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as show, contextlib.redirect_stderr(captured):
        show(Progress("mine[/].py", "softmax.shape", 3, 10))
        show(Progress("mine[/].py", "softmax.shape", 3, 10, forecast="about 4 minutes: a call takes 0.8 s"))
    assert stream.getvalue().count("mine[/].py will take about 4 minutes: a call takes 0.8 s") == 1
    assert captured.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_terminal_alone_sees_the_first_violation(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar() as show:
        show(Progress("mine.py", "softmax.shape", 3, 10, found="softmax: softmax.shift does not hold."))
        show(Progress("mine.py", "softmax.dtype", 4, 10))
    assert stream.getvalue().count("✗ softmax: softmax.shift does not hold.") == stream.isatty()
