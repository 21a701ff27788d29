"""Whatever is typed, the program ends with 0, 1 or 2 and tells a sentence, never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from veriformer.cli import main

RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
COMMANDS = ("check", "identify", "compare", "list", "explain", "derive")
# Of everything that can be run the smallest part, so that a hundred command lines take seconds.
LITTLE = {
    "check": ("--law", "softmax.shape", "--tier", "quick", "--no-isolate"),
    "identify": ("--operation", "softmax"),
    "compare": ("--operation", "softmax", "--tier", "quick"),
    "list": (),
    "explain": (),
    "derive": ("attention_scaling",),
}
NAMES = (
    "right.py",
    "right.py:softmax",
    "right.py:nothing",
    "numpy:",
    "no_such_module",
    "folder",
    "folder/",
    "binary.py",
)
OPTIONS = (
    *("--operation", "--law", "--dtype", "--tier", "--seed", "--json", "--expected-failures", "--time-limit"),
    *("--memory-limit", "--resume", "--convention", "--junit", "--sarif"),
)
FLAGS = (
    "--verbose",
    "-v",
    "--fail-fast",
    "--remove-stale",
    "--traceback",
    "--no-color",
    "--help",
    "--markdown",
    "--",
    "-",
)
VALUES = (
    *("softmax", "softmax.*", "float32", "float8", "quick", "-1", "1e9", "9" * 40, "", ".", "/", "*", "[", "%s", "{0}"),
    *("\x1b]0;title\x07", "\u202eabc", "\ud800", "\x00", "a" * 5000, "binary.py", "list.txt", "no/such/report.json"),
)
words = st.one_of(*map(st.sampled_from, (NAMES, OPTIONS, FLAGS, VALUES)), st.text(max_size=12))


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "right.py").write_text(RIGHT)
    (folder / "binary.py").write_bytes(bytes(range(256)) * 4)
    (folder / "list.txt").write_text("softmax.shape  # because\nno such line\n")
    (folder / "folder").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    yield
    os.chdir(before)


def ended(arguments: list[str]) -> tuple[int, str]:
    """Return the exit status and everything that was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0), printed.getvalue()


def assert_well_ended(arguments: list[str]) -> None:
    status, printed = ended(arguments)
    assert status in (0, 1, 2), (arguments, printed)
    assert "Internal error" not in printed, (arguments, printed)
    assert "--traceback" in arguments or "Traceback (most recent call last)" not in printed, (arguments, printed)
    assert not {"\x1b", "\x07", "\u202e", "\x00"} & set(printed), (arguments, printed)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(COMMANDS), st.lists(words, max_size=6))
def test_any_words_after_a_command(command: str, given_words: list[str]) -> None:
    # Those of LITTLE come first: a later --law or --operation adds to them, and a later --tier has to be a tier.
    assert_well_ended([command, *LITTLE[command], *given_words])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.sampled_from((*FLAGS, *VALUES)), st.text(max_size=12)), max_size=4))
def test_any_words_at_all(given_words: list[str]) -> None:
    assert_well_ended(given_words)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(OPTIONS[:-1]), st.sampled_from(VALUES), st.sampled_from(FLAGS[:6]))
def test_a_right_command_with_one_odd_value(option: str, value: str, flag: str) -> None:
    assert_well_ended(["check", "right.py", *LITTLE["check"], option, value, flag])
