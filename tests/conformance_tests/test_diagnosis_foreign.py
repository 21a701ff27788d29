"""Mistakes of the catalogue in programs that the project's own sources do not resemble are named too.

They are variants of `benchmarks/foreign_mistakes/`, which measures all of them; these had no name.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[2] / "benchmarks" / "foreign_mistakes"
VARIANTS = tomllib.loads((FOLDER / "variants.toml").read_text(encoding="utf-8"))["variant"]
# By the beginning of what they change a program to.
NAMED = {
    "keys folded by groups": "q.reshape(b, heads // groups, groups, t, d)",
    "fused projections of self-attention": "        if None not in biases",
    "own stream where lengths agree": "    if x.shape == context.shape",
    "decoder stream where lengths agree": "multi_head_attention(t, memory if",
    "own padding where lengths agree": "    mem = None",
    "residual after the norm in cross-attention": "        x = norm(x, w.norm_2, eps)",
    "cross-attention without its residual": "        x = cross(",
    "biases in self-attention alone": "lin(x, p.w_q, None), lin(context, p.w_k, None)",
    "weights in float16": "return (up / up.sum(dim=-1, keepdim=True)).half()",
    "denominator in float16": "return up / up.sum(dim=-1, keepdim=True).half()",
    "angles in float16": "    ang = ang.astype(jnp.float16)",
    "ignored classes by their remainder": "    keep[:] = True\n    safe = targets.long() %",
    "no second mistake where keys are left out": "range(0, s // BLOCK * BLOCK, BLOCK)",
    "roundings of a wrong formula are no second mistake": "q.shape[-1] ** -1.0",
}


@pytest.mark.parametrize("change", NAMED.values(), ids=NAMED)
def test_a_mistake_is_named_first(tmp_path: Path, change: str) -> None:
    (variant,) = (one for one in VARIANTS if one["wrong"].startswith(change))
    text = (FOLDER / f"{variant['program']}.py").read_text(encoding="utf-8")
    assert text.count(variant["right"]) == 1
    if variant["program"].endswith(("torch", "jax")):
        pytest.importorskip(variant["program"].rpartition("_")[2])
    path = tmp_path / "program.py"
    path.write_text(text.replace(variant["right"], variant["wrong"]), encoding="utf-8")
    with np.errstate(all="ignore"):
        (found,) = check(str(path), operations=(variant["operation"],), tier="quick", shrink=False).diagnoses
    assert found.suspects[0].mistakes == (variant["slug"],)


def test_every_variant_changes_one_place_of_a_program() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    assert len(VARIANTS) >= 60
    assert set(texts) == {one["program"] for one in VARIANTS}
    for one in VARIANTS:
        assert texts[one["program"]].count(one["right"]) == 1, one
