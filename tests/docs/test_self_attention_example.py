"""The exercise `SimpleMultiHeadAttention` of source document 003 is checked, though it lacks what the interface has."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.report import Report

pytestmark = pytest.mark.long

pytest.importorskip("torch")

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "self_attention_torch.py"
MISTAKES = {
    "scale_missing": (" / math.sqrt(self.d_k)", ""),
    "scale_by_d_model_not_head_dim": ("math.sqrt(self.d_k)", "math.sqrt(x.shape[-1])"),
    "projections=queries_and_keys_exchanged": ("q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
    "softmax_wrong_axis": ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)"),
    "heads_merge_without_transpose": ("attended.transpose(1, 2).flatten(2)", "attended.reshape(x.shape)"),
    "value_uses_key_projection": ("self.split(self.W_v(x))", "self.split(self.W_k(x))"),
}


def checked(file: Path) -> Report:
    return check(str(file), operations=("multi_head_attention",), tier="quick")


def test_the_example_conforms_and_what_it_lacks_is_not_declared() -> None:
    report = checked(EXAMPLE)
    assert report.verdict == "conforms"
    assert report.counts["errors"] == 0
    assert report.counts["passed"] >= 19
    assert not report.notices
    # What hides in the keys stands in x too, so that no output tells whether it passes the mask.
    assert "masked_nonfinite" not in report.conventions
    lacking = {result.law.id for result in report.results if result.status == "not_declared"}
    assert {"multi_head.biases", "multi_head.keys.permutation", "multi_head.value_width"} <= lacking


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_it_is_named(tmp_path: Path, mistake: str) -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    right, wrong = MISTAKES[mistake]
    assert source.count(right) == 1
    file = tmp_path / "exercise.py"
    file.write_text(source.replace(right, wrong), encoding="utf-8")
    report = checked(file)
    assert report.verdict == "violates"
    (found,) = report.diagnoses
    assert found.suspects[0].mistakes == (mistake,)


def test_the_page_shows_the_wrapper_as_it_is() -> None:
    page = (DOCS / "interface.md").read_text(encoding="utf-8")
    source = EXAMPLE.read_text(encoding="utf-8")
    shown = page.partition("](examples/self_attention_torch.py)")[2].partition("```python\n")[2].partition("```")[0]
    limitations, _, wrapper = shown.strip().partition("\n\n\n")
    assert limitations in source
    assert wrapper
    assert source.endswith(f"\n{wrapper}\n")
