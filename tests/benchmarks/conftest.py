"""The scripts of the benchmarks as modules: they are not part of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark(request: pytest.FixtureRequest) -> ModuleType:
    """The script that a test module is named after: that of `test_kill_matrix` is `kill_matrix.py`."""
    name = request.path.stem.removeprefix("test_")
    specification = importlib.util.spec_from_file_location(f"{name}_benchmark", BENCHMARKS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # A dataclass looks its annotations up in its module.
    sys.modules[specification.name] = module
    with pytest.MonkeyPatch.context() as patched:
        # As where it is run: scripts import each other.
        patched.syspath_prepend(BENCHMARKS)
        specification.loader.exec_module(module)
    return module
