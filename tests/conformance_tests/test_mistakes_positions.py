"""The suite catches what people get wrong about positions: one line changed, and the law that names it fails.

Every counterexample must be small enough to be read.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.cases.case import AlibiCase, BucketCase, RotaryCase

SOURCES = Path(__file__).parent / "sources"
OPERATIONS = ("rotary_embedding", "alibi_bias", "relative_position_bucket")


@dataclass(frozen=True)
class Mistake:
    """A line of a correct source, what a mistaken author wrote instead, and the law that says so."""

    name: str
    source: str
    right: str
    wrong: str
    law: str

    def write(self, folder: Path) -> Path:
        text = (SOURCES / f"positions_{self.source}.py").read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.right!r} must occur once in the source"
        path = folder / "my_positions.py"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return path


_NUMPY = (
    Mistake(
        "direction reversed",
        "numpy",
        "(even * cos - odd * sin, odd * cos + even * sin)",
        "(even * cos + odd * sin, odd * cos - even * sin)",
        "rotary.value",
    ),
    Mistake("base ignored", "numpy", "frequencies = base ** ", "frequencies = 10000.0 ** ", "rotary.base"),
    Mistake(
        "angles along the heads",
        "numpy",
        "    angles = angles[:, None] if positions.ndim == 2 else angles",
        "    angles = np.arange(x.shape[1])[:, None, None] * frequencies",
        "rotary.heads.independence",
    ),
    Mistake(
        "positions counted anew",
        "numpy",
        "angles = positions[..., None] * frequencies",
        "angles = np.broadcast_to(np.arange(x.shape[2]), positions.shape)[..., None] * frequencies",
        "rotary.tokens.permutation",
    ),
    Mistake(
        "positions of the first sample for all",
        "numpy",
        "angles[:, None] if positions.ndim == 2",
        "angles[:1, None] if positions.ndim == 2",
        "rotary.positions.per_sample",
    ),
    Mistake(
        "first position for all rows",
        "numpy",
        "angles = positions[..., None] * frequencies",
        "angles = np.broadcast_to(positions[..., :1], positions.shape)[..., None] * frequencies",
        "rotary.tokens.permutation",
    ),
    Mistake(
        "frequencies of the whole width",
        "numpy",
        "(-np.arange(0, width, 2) / width)",
        "(-np.arange(0, width, 2) / x.shape[-1])",
        "rotary.rotary_dim.narrow_vector",
    ),
    Mistake(
        "rotary dimension ignored",
        "numpy",
        "width = x.shape[-1] if rotary_dim is None else rotary_dim",
        "width = x.shape[-1]",
        "rotary.rotary_dim.untouched",
    ),
    Mistake(
        "cosines of one pair, sines of another",
        "numpy",
        "np.cos(angles).astype(x.dtype), np.sin(angles)",
        "np.cos(angles).astype(x.dtype), np.sin(angles[..., ::-1])",
        "rotary.norm",
    ),
    Mistake(
        "positions counted from one",
        "numpy",
        "angles = positions[..., None] * frequencies",
        "angles = (positions[..., None] + 1) * frequencies",
        "rotary.position_zero",
    ),
    Mistake(
        "half a turn only",
        "numpy",
        "angles = positions[..., None] * frequencies",
        "angles = np.sqrt(positions[..., None]) * frequencies",
        "rotary.additive",
    ),
    Mistake(
        "vectors normalised",
        "numpy",
        "    even, odd = x[..., 0:width:2], x[..., 1:width:2]",
        "    x = x / np.sqrt(1 + np.sum(x * x, axis=-1, keepdims=True))\n"
        "    even, odd = x[..., 0:width:2], x[..., 1:width:2]",
        "rotary.linear",
    ),
    Mistake(
        "slopes of a power of two for any head count",
        "numpy",
        "if math.log2(num_heads).is_integer():",
        "if num_heads:",
        "alibi.slopes.any_head_count",
    ),
    Mistake(
        "first slope one",
        "numpy",
        "[start ** (head + 1) for head in range(num_heads)]",
        "[start**head for head in range(num_heads)]",
        "alibi.slopes.geometric",
    ),
    Mistake(
        "distance rewarded",
        "numpy",
        "return -slopes[:, None, None] * distance",
        "return slopes[:, None, None] * distance",
        "alibi.row_shift",
    ),
    Mistake(
        "row of the query instead of its position",
        "numpy",
        "rows = np.arange(key_length - query_length, key_length)",
        "rows = np.arange(query_length)",
        "alibi.last_queries",
    ),
    Mistake(
        "offset by one",
        "numpy",
        "rows = np.arange(key_length - query_length, key_length)",
        "rows = np.arange(key_length - query_length, key_length) + 1",
        "alibi.own_position",
    ),
    Mistake(
        "distance squared",
        "numpy",
        "return -slopes[:, None, None] * distance",
        "return -slopes[:, None, None] * distance**2",
        "alibi.row_shift",
    ),
    Mistake(
        "last bucket not clamped",
        "numpy",
        "    far = np.minimum(far, num_buckets - 1)\n",
        "",
        "relative_bucket.range",
    ),
    Mistake(
        "sign reversed",
        "numpy",
        "np.where(relative_position > 0, num_buckets, 0)",
        "np.where(relative_position < 0, num_buckets, 0)",
        "relative_bucket.sides",
    ),
    Mistake(
        "later keys instead of earlier ones",
        "numpy",
        "distance = np.maximum(-relative_position, 0)",
        "distance = np.maximum(relative_position, 0)",
        "relative_bucket.later_keys",
    ),
    Mistake(
        "buckets not halved for two directions",
        "numpy",
        "        num_buckets //= 2\n        later = np.where(relative_position > 0, num_buckets, 0)\n",
        "        later = np.where(relative_position > 0, num_buckets // 2, 0)\n",
        "relative_bucket.value",
    ),
    Mistake(
        "furthest distance ignored",
        "numpy",
        "math.log(max_distance / exact)",
        "math.log(128 / exact)",
        "relative_bucket.saturation",
    ),
    Mistake(
        "three quarters of the buckets exact",
        "numpy",
        "exact = num_buckets // 2",
        "exact = num_buckets // 4 + 1",
        "relative_bucket.exact_when_near",
    ),
)

_TORCH = (
    Mistake(
        "cosines laid out for neighbours, partners half a vector away",
        "torch",
        "angles = torch.cat((angles, angles), dim=-1)",
        "angles = angles.repeat_interleave(2, dim=-1)",
        "rotary.relative",
    ),
    Mistake(
        "direction reversed",
        "torch",
        "rotated = torch.cat((-second, first), dim=-1)",
        "rotated = torch.cat((second, -first), dim=-1)",
        "rotary.value",
    ),
    Mistake(
        "positions in the dtype of the vectors",
        "torch",
        "angles = positions.to(torch.float32)[..., None] * frequencies",
        "angles = positions.to(x.dtype)[..., None] * frequencies",
        "rotary.value",
    ),
    Mistake("base ignored", "torch", "1.0 / (base ** ", "1.0 / (10000.0 ** ", "rotary.base"),
    Mistake(
        "first element of the added slopes skipped",
        "torch",
        "extra ** torch.arange(1, 2 *",
        "extra ** torch.arange(2, 1 + 2 *",
        "alibi.slopes.any_head_count",
    ),
    Mistake(
        "distance in both directions",
        "torch",
        "return slopes_of(num_heads)[:, None, None] * distance",
        "return slopes_of(num_heads)[:, None, None] * distance.abs()",
        "alibi.monotone",
    ),
    Mistake(
        "row of the query instead of its position",
        "torch",
        "rows = torch.arange(key_length - query_length, key_length)",
        "rows = torch.arange(query_length)",
        "alibi.value",
    ),
    Mistake(
        "last bucket not clamped",
        "torch",
        "    far = torch.min(far, torch.full_like(far, num_buckets - 1))\n",
        "",
        "relative_bucket.range",
    ),
    Mistake(
        "sign reversed",
        "torch",
        "(relative_position > 0).to(torch.long)",
        "(relative_position < 0).to(torch.long)",
        "relative_bucket.sides",
    ),
    Mistake(
        "logarithm to base two",
        "torch",
        "torch.log(distance.float() / exact)",
        "torch.log2(distance.float() / exact)",
        "relative_bucket.value",
    ),
)

_JAX = (
    Mistake("base ignored", "jax", "frequencies = base ** ", "frequencies = 10000.0 ** ", "rotary.base"),
    Mistake(
        "slopes of a power of two for any head count",
        "jax",
        "power = 1 << (num_heads.bit_length() - 1)",
        "power = num_heads",
        "alibi.slopes.any_head_count",
    ),
    Mistake(
        "last bucket not clamped",
        "jax",
        "jnp.minimum(far, num_buckets - 1))",
        "far)",
        "relative_bucket.saturation",
    ),
)

_CACHED = (
    Mistake(
        "tables kept by width",
        "numpy",
        "    frequencies = base ** (-np.arange(0, width, 2) / width)\n",
        "    global tables\n"
        '    tables = globals().get("tables", {})\n'
        "    frequencies = tables.setdefault(width, base ** (-np.arange(0, width, 2) / width))\n",
        "rotary.base.history_independence",
    ),
)


def _name(mistake: Mistake) -> str:
    return f"{mistake.source}-{mistake.name.replace(' ', '_').replace(',', '')}"


@pytest.mark.parametrize("mistake", (*_NUMPY, *_TORCH, *_JAX, *_CACHED), ids=_name)
def test_the_law_that_names_the_mistake_fails_on_a_small_case(mistake: Mistake, tmp_path: Path) -> None:
    if mistake.source != "numpy":
        pytest.importorskip(mistake.source)
    result = check(str(mistake.write(tmp_path)), laws=(mistake.law,)).results[0]
    assert result.status == "failed", f"{mistake.law} holds although the file has: {mistake.name}"
    assert result.counterexample is not None
    _assert_readable(result.counterexample.case)
    assert np.asarray(result.counterexample.verdict.wrong).any()


def _assert_readable(case: object) -> None:
    if isinstance(case, RotaryCase):
        assert max(case.batch, case.heads, case.length) <= 3, f"not small: {case.describe()}"
        assert case.width <= 6
    if isinstance(case, AlibiCase):
        assert case.key_length <= 3
    if isinstance(case, BucketCase):
        assert max(case.rows, case.columns) <= 3


def _module(name: str) -> ModuleType:
    """Import a source once, so that what JAX compiled serves every seed."""
    specification = importlib.util.spec_from_file_location(f"positions_{name}", SOURCES / f"positions_{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("source", "seeds"), [("numpy", 5), ("torch", 5), ("jax", 2)])
def test_the_file_without_a_mistake_conforms(source: str, seeds: int) -> None:
    if source != "numpy":
        pytest.importorskip(source)
    module = _module(source)
    for seed in range(seeds):
        report = check(module, tier="quick", seed=seed)
        assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
        assert report.counts["passed"] == sum(result.law.operation.name in OPERATIONS for result in report.results)


def test_the_pairing_is_found() -> None:
    pytest.importorskip("torch")
    for source, pairing in (("numpy", "interleaved"), ("torch", "half")):
        report = check(_module(source), laws=("rotary.signature",))
        found = {finding.convention: (finding.value, finding.how) for finding in report.findings}
        assert found["rotary_pairing"] == (pairing, "inferred")


def test_a_pairing_declared_otherwise_is_a_violation() -> None:
    module = _module("numpy")
    module.__dict__["conventions"] = {"rotary_pairing": "half"}
    report = check(module, laws=("rotary.value", "rotary.relative"), tier="quick")
    assert {result.law.id: result.status for result in report.results} == {
        "rotary.value": "failed",
        "rotary.relative": "passed",
    }


def test_what_needs_a_keyword_that_is_not_there_is_not_declared() -> None:
    module = _module("numpy")

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
