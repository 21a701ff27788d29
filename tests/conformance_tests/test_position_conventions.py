"""What is found out about position encodings: the pairing of rotary components, and keywords that are not there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests import check, identify

SOURCES = Path(__file__).resolve().parents[2] / "conformance_tests" / "mistakes" / "sources"


def imported(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"positions_{name}", SOURCES / f"positions_{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_pairing_is_found() -> None:
    pytest.importorskip("torch")
    for source, pairing in (("numpy", "interleaved"), ("torch", "half")):
        report = check(imported(source), laws=("rotary.signature",))
        found = {finding.convention: (finding.value, finding.how) for finding in report.findings}
        assert found["rotary_pairing"] == (pairing, "inferred")


def turning(pairing: str, direction: float, *, everywhere: bool = False) -> SimpleNamespace:
    """Return a rotary embedding of one pairing that turns by `direction` times the angle, perhaps all components."""

    def rotary_embedding(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        width = x.shape[-1]
        angles = direction * positions[..., None] * 10000.0 ** (-np.arange(0, width, 2) / width)
        cosine, sine = np.cos(angles), np.sin(angles)
        if positions.ndim == 2:
            cosine, sine = cosine[:, None], sine[:, None]
        first = slice(0, width, 2) if pairing == "interleaved" else slice(0, width // 2)
        second = slice(1, width, 2) if pairing == "interleaved" else slice(width // 2, width)
        turned = np.empty_like(x)
        turned[..., first] = x[..., first] * cosine - x[..., second] * sine
        turned[..., second] = x[..., first] * sine + x[..., second] * cosine
        return turned + x.sum(axis=-1, keepdims=True) if everywhere else turned

    return SimpleNamespace(rotary_embedding=rotary_embedding)


@pytest.mark.parametrize("pairing", ("interleaved", "half"))
@pytest.mark.parametrize("direction", (-1.0, 2.0))
def test_the_pairing_is_found_where_the_angle_is_wrong(pairing: str, direction: float) -> None:
    report = check(turning(pairing, direction), laws=("rotary.*",))
    (finding,) = report.findings
    assert (finding.value, finding.how) == (pairing, "inferred")
    statuses = {result.law.id: result.status for result in report.results}
    assert (statuses["rotary.value"], statuses["rotary.norm"], statuses["rotary.relative"]) == (
        "failed",
        "passed",
        "passed",
    )
    (item,) = identify(turning(pairing, direction)).conventions
    assert (item.value, item.how, item.told) == (pairing, "inferred", "told")
    assert f"component 0 depends on 0 and {1 if pairing == 'interleaved' else 4}" in item.evidence[0].came


def test_components_that_all_mix_have_no_pairing() -> None:
    target = turning("half", 1.0, everywhere=True)
    (finding,) = check(target, laws=("rotary.signature",)).findings
    assert (finding.value, finding.how) == ("interleaved", "standard")
    (item,) = identify(target).conventions
    assert (item.value, item.told, item.fits) == ("interleaved", "untold", ())


def test_a_pairing_declared_otherwise_is_a_violation() -> None:
    module = imported("numpy")
    module.__dict__["conventions"] = {"rotary_pairing": "half"}
    report = check(module, laws=("rotary.value", "rotary.relative"), tier="quick")
    assert {result.law.id: result.status for result in report.results} == {
        "rotary.value": "failed",
        "rotary.relative": "passed",
    }


def test_what_needs_a_keyword_that_is_not_there_is_not_declared() -> None:
    module = imported("numpy")

    def rotary_embedding(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return np.asarray(module.rotary_embedding(x, positions))

    def relative_position_bucket(relative_position: np.ndarray, *, num_buckets: int = 32) -> np.ndarray:
        return np.asarray(module.relative_position_bucket(relative_position, num_buckets=num_buckets))

    target = SimpleNamespace(rotary_embedding=rotary_embedding, relative_position_bucket=relative_position_bucket)
    statuses = {result.law.id: result.status for result in check(target, tier="quick").results}
    assert set(statuses.values()) == {"passed", "not_declared"}
    assert statuses["rotary.value"] == statuses["relative_bucket.memory_layout"] == "passed"
    for law in ("rotary.base", "rotary.rotary_dim.untouched", "relative_bucket.value", "relative_bucket.range"):
        assert statuses[law] == "not_declared"
