"""What is not said of a program: no mistake that it cannot make, and no law left over that the mistake breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis import diagnose
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.mistakes import planted

pytestmark = pytest.mark.long

ATTENTION = """
import torch

framework = "torch"


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False):
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    logits = UNHEARD_OF
    if is_causal:
        causal = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
        mask = causal if mask is None else mask & causal
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return torch.softmax(logits, dim=-1) @ value
"""


def told(folder: Path, program: str) -> Diagnosis:
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    (found,) = check(str(path), operations=("scaled_dot_product_attention",), tier="quick").diagnoses
    return found


@pytest.mark.parametrize(
    "formula",
    (
        # They break laws of large numbers, of key order and of equal shapes, as mistakes do that have no formula.
        "logits + 0.3 * torch.cos(logits)",
        "torch.sinh(logits)",
        "logits.roll(1, -1)",
    ),
)
def test_a_formula_that_nobody_reported_has_no_name(tmp_path: Path, formula: str) -> None:
    found = told(tmp_path, ATTENTION.replace("UNHEARD_OF", formula))
    assert (found.how, found.suspects) == ("unknown", ())
    assert found.excluded


def test_a_program_that_answers_nothing_is_not_said_to_make_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(ATTENTION.replace("UNHEARD_OF", "logits").replace('"torch"', '"numpy"'), encoding="utf-8")
    report = check(str(path), operations=("scaled_dot_product_attention",), tier="quick")
    statuses = {result.status for result in report.results if result.law.claim.key != "signature"}
    assert statuses == {"error", "not_declared"}
    assert report.diagnoses == ()


def test_what_is_kept_of_calls_before_is_named_where_no_law_shows_that_they_matter(tmp_path: Path) -> None:
    (mistake,) = (one for one in planted() if (one.slug, one.source) == ("keys_cached_by_shape", "attention_numpy"))
    assert told(tmp_path, mistake.source_text()).suspects[0].mistakes == ("keys_cached_by_shape",)


def test_a_law_that_the_mistake_ends_with_an_error_is_explained_by_it(tmp_path: Path) -> None:
    slug = "value_dim_assumed_equal_qk_dim"
    (mistake,) = (one for one in planted() if (one.slug, one.source) == (slug, "attention_numpy"))
    found = told(tmp_path, mistake.source_text())
    assert found.suspects[0].mistakes == (slug,)
    assert found.unexplained == ()


@pytest.mark.parametrize("slug", ("mask_mutated_in_place", "query_scaled_in_place"))
def test_what_is_written_to_tells_who_writes(tmp_path: Path, slug: str) -> None:
    mistake = next(one for one in planted() if one.slug == slug)
    assert [suspect.mistakes for suspect in told(tmp_path, mistake.source_text()).suspects] == [(slug,)]


RAISING = """
import numpy as np


def softmax(x):
    raise RuntimeError("no kernel for this device")
"""
A_CLASS = """
import torch

framework = "torch"


class rms_norm(torch.nn.Module):
    def __init__(self, width, heads, dropout, *, bias, gain):
        super().__init__()

    def forward(self, x, table):
        return x[table]
"""
MISSPELT = """
import numpy as np


def scaled_dot_product_attention(query, key, value, mask=None, causal=False):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ value).astype(query.dtype)
"""
# The mean is taken along the first axis that is not of the batch: the shape fits where that axis has length one.
SUMMED_ELSEWHERE = """
import numpy as np


def layer_norm(x, gamma, beta, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return (centred / np.sqrt((centred**2).sum(axis=0) / x.shape[-1] + eps) * gamma + beta)[:1].astype(x.dtype)
"""
MERGED = """
import numpy as np

random = np.random.default_rng(7)
TABLE, OUT = random.normal(size=(17, 12)), random.normal(size=(12, 17))
QUERY, KEY, VALUE = random.normal(size=(3, 12, 12)) / 3
model_inputs = {"vocabulary_size": 17}
model_properties = ("causal",)


def model(tokens):
    x = TABLE[tokens]
    batch, length, width = x.shape
    query, key, value = ((x @ w).reshape(batch, length, 3, -1).swapaxes(1, 2) for w in (QUERY, KEY, VALUE))
    scores = np.where(np.tri(length, dtype=bool), query @ key.swapaxes(-1, -2) / 2, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    heads = weights / weights.sum(axis=-1, keepdims=True) @ value
    return (x + heads.reshape(batch, length, width)) @ OUT
"""


@pytest.mark.parametrize("isolate", (False, True))
@pytest.mark.parametrize("program", (RAISING, A_CLASS), ids=("raising", "a class"))
def test_no_mistake_is_looked_for_where_every_call_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, isolate: bool
) -> None:
    monkeypatch.setattr(diagnose, "Calls", None)
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    report = check(str(path), tier="quick", shrink=False, isolate=isolate)
    assert report.counts["errors"] > 5
    assert report.diagnoses == ()


@pytest.mark.parametrize(
    ("operation", "program", "slug"),
    (
        ("scaled_dot_product_attention", MISSPELT, "parameter_without_default"),
        ("layer_norm", SUMMED_ELSEWHERE, "squeeze_drops_axis_of_one"),
        ("model", MERGED, "causal_diagonal_off_by_one"),
    ),
)
def test_laws_that_are_broken_in_another_way_name_no_mistake(
    tmp_path: Path, operation: str, program: str, slug: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    report = check(str(path), operations=(operation,), tier="quick")
    assert report.counts["failed"]
    assert slug not in {name for found in report.diagnoses for suspect in found.suspects for name in suspect.mistakes}
