"""What JAX compiles is kept for the next run, of users' programs too, in a folder beside what the user keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from veriformer.adapters.compilation_cache import environment, thin_out

pytest.importorskip("jax")
FOLDER = "JAX_COMPILATION_CACHE_DIR"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere"),
]
CHECK = (sys.executable, "-m", "veriformer.cli", "check")
FEW = ("--law", "gelu.value", "--tier", "quick")
GELU = """
import jax
{before}

framework = "jax"


class Layers:
    framework = "jax"

    @staticmethod
    def gelu(x):
        return 0.5 * x * (1 + jax.lax.erf(x / jax.numpy.sqrt(jax.numpy.asarray(2, x.dtype))))


gelu = Layers.gelu
"""


def run(home: Path, *command: str, **more: str) -> str:
    """Run with a cache of its own and return what was printed, its last line with the seconds left out."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    variables |= {"XDG_CACHE_HOME": str(home / "cache"), **more}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, cwd=home)
    assert done.stderr == ""
    return done.stdout.rpartition(" in ")[0]


def entries(home: Path) -> set[str]:
    return {path.name for path in home.glob("cache/veriformer/jax/*/*-cache")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "activation.py").write_text(GELU.format(before=""))
    return tmp_path


def test_a_second_run_compiles_nothing_and_says_the_same(home: Path) -> None:
    first = run(home, *CHECK, "jax", *FEW)
    kept = entries(home)
    assert kept
    assert run(home, *CHECK, "jax", *FEW) == first
    assert entries(home) == kept


@pytest.mark.parametrize(
    "target",
    [
        ("activation.py",),
        ("activation.py", "--no-isolate"),
        ("activation:Layers",),
        ("activation.py", "--workers", "1"),
    ],
    ids=["in its own process", "in this process", "import path", "worker"],
)
def test_what_a_users_program_compiles_is_kept_too(home: Path, target: tuple[str, ...]) -> None:
    first = run(home, *CHECK, *target, *FEW)
    kept = entries(home)
    assert kept
    assert run(home, *CHECK, *target, *FEW) == first
    assert entries(home) == kept


def test_jax_that_was_imported_before_keeps_what_is_compiled_from_then_on(home: Path) -> None:
    script = """
import jax, activation
from veriformer.conformance_tests import check
jax.numpy.ones(3) + 1
print(check(activation, laws=("gelu.value",), tier="quick").verdict)
"""
    run(home, sys.executable, "-c", script)
    assert entries(home)


def test_a_cache_of_the_users_own_stays(home: Path) -> None:
    mine, theirs = home / "mine", home / "theirs"
    run(home, *CHECK, "activation.py", *FEW, JAX_COMPILATION_CACHE_DIR=str(mine))
    settings = ("jax_persistent_cache_min_compile_time_secs", 0.0), ("jax_compilation_cache_dir", str(theirs))
    before = "\n".join(f"jax.config.update({name!r}, {value!r})" for name, value in settings)
    (home / "activation.py").write_text(GELU.format(before=before))
    run(home, *CHECK, "activation.py", *FEW)
    assert list(theirs.iterdir())
    assert not entries(home)


def test_an_entry_that_cannot_be_read_is_compiled_anew_without_a_word(home: Path) -> None:
    first = run(home, *CHECK, "activation.py", *FEW)
    for path in home.glob("cache/veriformer/jax/*/*-cache"):
        path.write_bytes(path.read_bytes()[:10])
    assert run(home, *CHECK, "activation.py", *FEW) == first


def test_it_can_be_turned_off(home: Path) -> None:
    run(home, *CHECK, "activation.py", *FEW, JAX_ENABLE_COMPILATION_CACHE="false")
    assert not entries(home)


def test_variables_are_what_they_were_unless_they_were_set_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFORMER_BEFORE", "before")
    monkeypatch.delenv("VERIFORMER_ABSENT", raising=False)
    monkeypatch.delenv("VERIFORMER_SET", raising=False)
    names = ("VERIFORMER_BEFORE", "VERIFORMER_ABSENT", "VERIFORMER_SET")
    with environment(dict.fromkeys(names, "ours")):
        assert [os.environ[name] for name in names] == ["ours"] * 3
        os.environ["VERIFORMER_SET"] = "theirs"
    assert [os.environ.get(name) for name in names] == ["before", None, "theirs"]
    del os.environ["VERIFORMER_SET"]


def test_the_entries_that_were_not_used_for_longest_are_deleted(tmp_path: Path) -> None:
    for number in range(10):
        entry = tmp_path / f"{number}-cache"
        entry.write_bytes(bytes(100))
        os.utime(entry, (1_000_000 + number, 1_000_000))
    thin_out(tmp_path, most_bytes=1000)
    assert len(list(tmp_path.iterdir())) == 10
    thin_out(tmp_path, most_bytes=999)
    assert {path.name for path in tmp_path.iterdir()} == {f"{number}-cache" for number in range(6, 10)}
    thin_out(tmp_path / "absent", most_bytes=0)
