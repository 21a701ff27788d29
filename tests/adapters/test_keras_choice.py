"""Keras computes with a framework that is installed, where nothing says which."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from veriformer.adapters import keras_choice


@pytest.fixture(autouse=True)
def _undecided(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "keras", raising=False)


def _installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(keras_choice, "find_spec", lambda name: object() if name in names else None)


@pytest.mark.parametrize(
    ("installed", "chosen"),
    (
        (("keras", "torch", "jax"), "torch"),
        (("keras", "jax"), "jax"),
        (("keras", "tensorflow", "torch"), None),
        (("torch",), None),
        (("keras",), None),
    ),
)
def test_a_framework_is_chosen_where_tensorflow_is_missing(
    monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...], chosen: str | None
) -> None:
    _installed(monkeypatch, *installed)
    with keras_choice.chosen():
        assert keras_choice.os.environ.get("KERAS_BACKEND") == chosen
    assert "KERAS_BACKEND" not in keras_choice.os.environ


def test_what_the_user_says_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    _installed(monkeypatch, "keras", "torch")
    (tmp_path / "keras.json").write_text('{"backend": "jax"}', encoding="utf-8")
    with keras_choice.chosen():
        assert "KERAS_BACKEND" not in keras_choice.os.environ
    (tmp_path / "keras.json").write_text('{"backend": "tensorflow"}', encoding="utf-8")
    monkeypatch.setenv("KERAS_BACKEND", "numpy")
    with keras_choice.chosen():
        assert keras_choice.os.environ["KERAS_BACKEND"] == "numpy"


def test_a_file_that_names_one_itself_is_not_forestalled(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    _installed(monkeypatch, "keras", "torch")
    (tmp_path / "model.py").write_text("import os\nos.environ.setdefault('KERAS_BACKEND', 'jax')\n", encoding="utf-8")
    with keras_choice.chosen(tmp_path / "model.py"):
        assert "KERAS_BACKEND" not in keras_choice.os.environ
    (tmp_path / "model.py").write_text("import keras\n", encoding="utf-8")
    with keras_choice.chosen(tmp_path / "model.py"):
        assert keras_choice.os.environ["KERAS_BACKEND"] == "torch"
