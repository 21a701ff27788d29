"""Imports beside a file: each implementation keeps its own helpers, at import and when it runs."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.loading import load


@pytest.fixture
def two(tmp_path):
    """Two implementations in two folders, each with a helpers.py and a package of the same names."""
    for number in (1, 2):
        folder = tmp_path / f"folder{number}"
        (folder / "parts").mkdir(parents=True)
        (folder / "helpers.py").write_text(f"factor = {number}\n")
        (folder / "late.py").write_text(f"calls = []\nshift = {number * 10}\n")
        (folder / "parts" / "inner.py").write_text(f"extra = {number * 100}\n")
        (folder / "mine.py").write_text(
            "from helpers import factor\nimport parts.inner\n"
            "def softmax(x):\n"
            "    import late, helpers\n"
            "    assert helpers.factor == factor\n"
            "    late.calls.append(1)\n"
            "    return x * 0 + factor + late.shift + parts.inner.extra + 1000 * len(late.calls)\n"
        )
    return tmp_path


def answer(implementation) -> float:
    import numpy as np

    return float(prepare(implementation, "softmax", {"x": np.ones(1)}, dtype="float32").run().value[0])


def test_two_files_keep_their_own_helpers(two):
    first, second = load(f"{two}/folder1/mine.py"), load(f"{two}/folder2/mine.py")
    assert answer(first) == 1111
    assert answer(second) == 1222
    # A module that is imported during a call stays the same in the next.
    assert answer(first) == 2111


def test_a_folder_beside_the_file_may_go_away_while_it_is_looked_into(two, monkeypatch):
    """As in /tmp, where others come and go."""
    listed = Path.iterdir

    def iterdir(folder: Path):
        if folder.name == "gone":
            raise FileNotFoundError(folder)
        return listed(folder)

    (two / "folder1" / "gone").mkdir()
    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert answer(load(f"{two}/folder1/mine.py")) == 1111


def test_nothing_is_left_in_sys_modules_or_sys_path(two):
    before, path = dict(sys.modules), list(sys.path)
    answer(load(f"{two}/folder1/mine.py"))
    added = set(sys.modules) - set(before)
    assert not {"helpers", "late", "parts", "parts.inner"} & set(sys.modules)
    assert all(name.startswith("_veriformer_mine") for name in added)
    assert sys.path == path


def test_a_module_of_that_name_from_elsewhere_is_set_aside_and_put_back(two, monkeypatch):
    stranger = types.ModuleType("helpers")
    stranger.factor = -1
    stranger.__file__ = "/elsewhere/helpers.py"
    monkeypatch.setitem(sys.modules, "helpers", stranger)
    assert answer(load(f"{two}/folder2/mine.py")) == 1222
    assert sys.modules["helpers"] is stranger


def test_a_file_called_like_a_framework_does_not_hide_it(tmp_path):
    (tmp_path / "torch.py").write_text('import torch\nframework = "torch"\nsoftmax = lambda x: torch.softmax(x, -1)\n')
    real = pytest.importorskip("torch")
    assert load(f"{tmp_path}/torch.py").operations["softmax"](real.zeros(2)).tolist() == [0.5, 0.5]
    assert sys.modules["torch"] is real
