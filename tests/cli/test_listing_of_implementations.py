"""`veriformer list implementations` names the extra of what is not installed, and the command once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest
from veriformer.adapters.installation import installation

Run = Callable[..., tuple[int, str, str]]


def listed(run: Run) -> str:
    status, out, err = run("list", "implementations")
    assert (status, err) == (0, "")
    return " ".join(out.split())


def test_the_command_that_installs_an_extra_is_told_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "flax" else find(name, *rest))
    said = listed(run)
    assert "(not installed: the extra flax)" in said
    # A long path is broken between lines.
    assert said.replace(" ", "").count(installation().install("EXTRA").replace(" ", "")) == 1


def test_keras_on_tensorflow_has_an_extra_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    absent = ("tensorflow", "keras")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in absent else find(name, *rest))
    said = listed(run)
    assert "(not installed: the extra keras-tensorflow)" in said
    assert "(not installed: the extra keras)" in said
    assert "the extra tensorflow" not in said


def test_where_all_is_installed_there_is_no_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: object())
    said = listed(run)
    assert "not installed" not in said and "EXTRA" not in said
