"""What `import veriformer` finds."""

from __future__ import annotations

import subprocess
import sys

import pytest
import veriformer
from veriformer import check


def test_every_public_name_is_there():
    assert all(getattr(veriformer, name) is not None for name in veriformer.__all__)
    assert veriformer.__doc__.startswith("Veriformer answers one question")
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        _ = veriformer.chek


def test_importing_it_loads_nothing_heavy():
    program = "import sys, veriformer; print(veriformer.__version__, {'numpy', 'torch', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("set()")


def test_the_command_line_is_the_package():
    done = subprocess.run([sys.executable, "-m", "veriformer", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("veriformer ")


def test_a_function_is_checked_by_itself():
    numpy = pytest.importorskip("numpy")

    def rms(x, weight, eps=1e-6):
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

    report = check(rms, tier="quick")
    assert report.verdict == "conforms" and report.notices[0].startswith("rms is judged as rms_norm")
    assert check(lambda x, weight: x, operation="rms_norm", framework="numpy", tier="quick").verdict == "violates"
