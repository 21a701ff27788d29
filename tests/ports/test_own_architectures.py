"""Models whose parts the specification does not know are matched directly: correct ports agree, mistakes are found."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison

pytestmark = pytest.mark.long

_FOLDER = Path(__file__).parent / "own"
_PORTS = ("conv_numpy", "experts_jax", "lstm_jax", "mixer_numpy", "retention_jax", "shaw_numpy", "ssm_jax")
_FAULTS: list[dict[str, Any]] = tomllib.loads((_FOLDER / "faults.toml").read_text(encoding="utf-8"))["fault"]
# One of each kind of cause, in ports that are fast.
_NAMED = (
    "Filter and gate change places.",
    "The last activation is missing.",
    "The maximum in place of the mean.",
    "The scale of the branch is missing.",
    "The norm of the other sublayer.",
    "Reshaped where it should be transposed.",
    "Distances have the other sign.",
    "The scores of positions are scaled twice.",
    "The scores of positions are subtracted.",
)


def _compared(folder: Path, port: str, find: str = "", replace: str = "") -> PortComparison:
    """Compare a port with its source, both copied to a folder; the port perhaps changed."""
    if port.endswith("jax"):
        pytest.importorskip("jax")
    source = f"{port.rpartition('_')[0]}_torch"
    for name in ("drawn", source, port):
        shutil.copy(_FOLDER / f"{name}.py", folder)
        sys.modules.pop(name, None)
    path = folder / f"{port}.py"
    text = path.read_text(encoding="utf-8")
    assert not find or text.count(find) == 1
    path.write_text(text.replace(find, replace) if find else text, encoding="utf-8")
    return compare_models(f"{folder / source}.py:build", f"{path}:build")


@pytest.mark.parametrize("port", _PORTS)
def test_a_correct_port_is_not_accused(port: str, tmp_path: Path) -> None:
    found = _compared(tmp_path, port)
    assert found.verdict == "agree"
    assert not found.inside
    assert found.apart < 1e-12


@pytest.mark.parametrize("fault", [one for one in _FAULTS if one["note"] in _NAMED], ids=lambda one: one["note"])
def test_a_mistake_is_found_where_it_is(fault: dict[str, Any], tmp_path: Path) -> None:
    found = _compared(tmp_path, fault["port"], fault["find"], fault["replace"])
    assert found.verdict == "differ"
    first = found.differences[0]
    assert any(name in first.cause.name for name in fault["cause"]), first.cause
    assert Path(first.file_b).stem == fault["port"]
    assert first.line_a and first.cause.change


def test_every_fault_can_be_planted() -> None:
    for fault in _FAULTS:
        assert (_FOLDER / f"{fault['port']}.py").read_text(encoding="utf-8").count(fault["find"]) == 1
    assert len(_FAULTS) >= 50
    assert {one["note"] for one in _FAULTS} >= set(_NAMED)
