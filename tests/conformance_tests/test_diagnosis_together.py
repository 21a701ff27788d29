"""Two mistakes in one program of which one is no formula: both are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.mistakes import planted

ATTENTION = """
import numpy as np

SEEN = {}


def scaled_dot_product_attention(query, key, value, *, mask=None, is_causal=False, scale=None):
    LINE
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    logits = query.astype(np.float64) @ key.astype(np.float64).swapaxes(-1, -2) * scale
    visible = np.ones(logits.shape, bool) if mask is None else np.broadcast_to(mask, logits.shape)
    visible = visible & np.tri(*logits.shape[-2:], CAUSAL, dtype=bool) if is_causal else visible
    logits = np.where(visible, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - np.where(np.isneginf(highest), 0, highest))
    total = weights.sum(axis=-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total) @ value).astype(query.dtype)
"""
LAWS = (
    "attention.dtype",
    "attention.signature",
    "attention.shape",
    "attention.inputs_unchanged",
    "attention.scale",
    "attention.keys.permutation",
    "attention.causal.*",
    "attention.mask.value",
)


def _written(folder: Path, program: str) -> str:
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    return str(path)


def told(folder: Path, program: str, laws: tuple[str, ...]) -> Diagnosis:
    with np.errstate(all="ignore"):
        (found,) = check(_written(folder, program), laws=laws, dtypes=("float32",)).diagnoses
    return found


WRONG = ATTENTION.replace("CAUSAL", "1")


@pytest.mark.parametrize(
    ("program", "mistakes"),
    [
        (WRONG.replace("LINE", "pass"), ("causal_diagonal_off_by_one",)),
        (
            WRONG.replace("LINE", "pass").replace(".astype(query.dtype)", ""),
            ("causal_diagonal_off_by_one", "result_promoted_to_float64"),
        ),
        (
            # Calls without a scale are refused, and the laws of the causal flag are about such calls alone.
            WRONG.replace("LINE", "pass").replace("scale=None):", "scale):"),
            ("parameter_without_default",),
        ),
        (
            ATTENTION.replace("CAUSAL", "0").replace("LINE", "pass").replace(".astype(query.dtype)", ""),
            ("result_promoted_to_float64",),
        ),
        (
            ATTENTION.replace("CAUSAL", "0")
            .replace("LINE", "pass")
            .replace("scale=None):", "scale):")
            .replace(".astype(query.dtype)", ""),
            ("parameter_without_default", "result_promoted_to_float64"),
        ),
    ],
)
def test_a_promise_that_is_broken_is_told_beside_the_formula(
    tmp_path: Path, program: str, mistakes: tuple[str, ...]
) -> None:
    assert told(tmp_path, program, LAWS).suspects[0].mistakes == mistakes


def test_what_is_kept_of_calls_before_does_not_hide_the_formula(tmp_path: Path) -> None:
    found = told(tmp_path, WRONG.replace("LINE", "key = SEEN.setdefault(key.shape, key)"), LAWS)
    assert found.how == "reproduced"
    assert "causal_diagonal_off_by_one" in found.suspects[0].mistakes


def test_what_explains_a_part_of_the_other_laws_is_not_named_for_it(tmp_path: Path) -> None:
    program = WRONG.replace("LINE", "pass").replace(".astype(query.dtype)", "")
    # Nothing that anybody reported: the weights are sharpened by the width of the values.
    unknown = program.replace("weights.sum(", "(weights ** value.shape[-1]).sum(")
    assert told(tmp_path, unknown, (*LAWS, "attention.value_width")).suspects[0].mistakes == (
        "result_promoted_to_float64",
    )


def test_sums_in_half_that_depend_on_the_layout_are_one_mistake(tmp_path: Path) -> None:
    slug = "softmax_sum_low_precision_accumulator"
    (mistake,) = (one for one in planted() if (one.slug, one.source) == (slug, "attention_numpy"))
    (found,) = check(_written(tmp_path, mistake.source_text()), operations=("softmax",)).diagnoses
    assert [suspect.mistakes for suspect in found.suspects] == [(slug,)]


def test_arrays_read_as_if_contiguous_are_told_beside_the_formula(tmp_path: Path) -> None:
    program = WRONG.replace("LINE", "value = value.ravel(order='K').reshape(value.shape)")
    found = told(tmp_path, program, (*LAWS, "attention.memory_layout"))
    assert found.suspects[0].mistakes == ("causal_diagonal_off_by_one", "noncontiguous_input_wrong")
