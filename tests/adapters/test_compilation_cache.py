"""What JAX compiles for the built-in implementations is kept for the next run, beside what the user keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from veriformer.adapters.compilation_cache import variables

pytest.importorskip("jax")
FOLDER = "JAX_COMPILATION_CACHE_DIR"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
COMMAND = (sys.executable, "-m", "veriformer.cli", "check", "jax", "--operation", "gelu", "--tier", "quick")


def run(home: Path, **more: str) -> str:
    """Check with a cache of its own and return what was printed, its last line with the seconds left out."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(home), **more}
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.rpartition(" in ")[0]


def entries(home: Path) -> set[str]:
    return {path.name for path in home.glob("veriformer/jax/*/*-cache")}


def test_only_jax_needs_one_and_none_is_put_in_the_place_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    assert variables(("torch",)) == {}
    assert Path(variables(("jax", "flax"))[FOLDER]).is_absolute()
    monkeypatch.setenv(FOLDER, "/mine")
    assert variables(("jax",)) == {}


@on_linux
def test_a_second_run_compiles_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    kept = entries(tmp_path)
    assert kept
    assert run(tmp_path) == first
    assert entries(tmp_path) == kept


@on_linux
def test_an_entry_that_cannot_be_read_is_compiled_anew_without_a_word(tmp_path: Path) -> None:
    first = run(tmp_path)
    for path in tmp_path.glob("veriformer/jax/*/*-cache"):
        path.write_bytes(path.read_bytes()[:10])
    assert run(tmp_path) == first


@on_linux
def test_it_can_be_turned_off(tmp_path: Path) -> None:
    run(tmp_path, JAX_ENABLE_COMPILATION_CACHE="false")
    assert not entries(tmp_path)
