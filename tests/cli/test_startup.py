"""Help and listings cost nothing they do not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "{'numpy', 'sympy', 'torch', 'jax', 'hypothesis', 'mpmath', 'rich.progress'}"


LIGHT = [
    [],
    ["--help"],
    ["check", "--help"],
    ["compare", "--help"],
    ["list"],
    ["list", "laws"],
    ["--version"],
    ["explain", "seeds"],
    ["explain", "seeds.000.11"],
    ["list", "mistakes"],
    ["explain", "scale_missing"],
    ["docs", "--help"],
]


@pytest.mark.parametrize("arguments", LIGHT)
def test_light_commands_import_no_heavy_package(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom veriformer.cli import main\n"
        f"try:\n    main({arguments}) if {bool(arguments)} else None\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        f"heavy = {HEAVY} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


def test_the_module_runs() -> None:
    command = [sys.executable, "-m", "veriformer.cli", "--help"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "check" in run.stdout


def test_a_terminal_without_unicode_ends_no_program() -> None:
    command = [sys.executable, "-X", "utf8=0", "-m", "veriformer.cli", "list", "laws"]
    environment = {"PATH": "", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, timeout=60, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    run.stdout.decode("ascii")


def test_a_reader_who_leaves_is_no_violation() -> None:
    command = f"{sys.executable} -m veriformer.cli list laws | head -1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode in (0, 141)
    assert "Traceback" not in run.stderr


def test_everything_can_be_imported_without_pytest() -> None:
    script = (
        "import sys\nsys.modules['pytest'] = None\n"
        "from veriformer.conformance_tests import *\n"
        "assert callable(check) and callable(parametrize_with_laws)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
