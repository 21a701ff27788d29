"""The suite catches what people get wrong: one line changed in a correct file, and the law that names it fails.

Every counterexample must be small enough to be read: no matrix of it is larger than three by three.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.cases.case import AttentionCase

SOURCES = Path(__file__).parent / "sources"


@dataclass(frozen=True)
class Mistake:
    """A line of a correct source, what a mistaken author wrote instead, and the law that says so."""

    name: str
    source: str
    right: str
    wrong: str
    law: str

    def write(self, folder: Path) -> Path:
        text = (SOURCES / f"attention_{self.source}.py").read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.right!r} must occur once in the source"
        path = folder / "my_attention.py"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return path


_NUMPY = (
    Mistake(
        "no scale",
        "numpy",
        "scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale",
        "scale = 1.0 if scale is None else scale",
        "attention.scale",
    ),
    Mistake(
        "scale by d_model",
        "numpy",
        "heads = scaled_dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)",
        "d_model = x.shape[-1]\n    heads = scaled_dot_product_attention("
        "query, key, value, mask=mask, is_causal=is_causal, scale=d_model**-0.5)",
        "multi_head.scale",
    ),
    Mistake(
        "softmax over queries",
        "numpy",
        "    total = exponentials.sum(axis=-1, keepdims=True)",
        "    total = exponentials.sum(axis=-2, keepdims=True)",
        "weights.rows_sum_to_one",
    ),
    Mistake(
        "mask polarity inverted",
        "numpy",
        "logits = np.where(mask, logits, -np.inf)",
        "logits = np.where(mask, -np.inf, logits)",
        "attention.mask.polarity",
    ),
    Mistake(
        "causal mask transposed",
        "numpy",
        "logits = np.where(columns <= rows, logits, -np.inf)",
        "logits = np.where(columns >= rows, logits, -np.inf)",
        "attention.causal.no_future_leak",
    ),
    Mistake(
        "diagonal off by one, one key too many",
        "numpy",
        "logits = np.where(columns <= rows, logits, -np.inf)",
        "logits = np.where(columns <= rows + 1, logits, -np.inf)",
        "attention.causal.no_future_leak",
    ),
    Mistake(
        "diagonal off by one, one key too few",
        "numpy",
        "logits = np.where(columns <= rows, logits, -np.inf)",
        "logits = np.where(columns < rows, logits, -np.inf)",
        "attention.causal.own_position",
    ),
    Mistake(
        "causal dropped when lengths differ",
        "numpy",
        "    if is_causal:",
        "    if is_causal and logits.shape[-1] == logits.shape[-2]:",
        "attention.causal.unequal_lengths",
    ),
    Mistake(
        "padding mask ignored for the last batch entry",
        "numpy",
        "    if mask is not None:\n",
        "    if mask is not None:\n"
        "        mask = np.broadcast_to(mask, logits.shape).copy()\n"
        "        mask[-1] = True\n",
        "attention.mask.padding",
    ),
    Mistake(
        "heads merged without transpose",
        "numpy",
        "merged = heads.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1)",
        "merged = heads.reshape(x.shape[0], x.shape[1], -1)",
        "multi_head.sum_of_heads",
    ),
    Mistake(
        "keys and values swapped",
        "numpy",
        "return attention_weights(query, key, mask=mask, bias=bias, is_causal=is_causal, scale=scale) @ value",
        "return attention_weights(query, value, mask=mask, bias=bias, is_causal=is_causal, scale=scale) @ key",
        "attention.values.hull",
    ),
    Mistake(
        "grouped heads tiled",
        "numpy",
        "key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)",
        "key, value = np.tile(key, (1, group, 1, 1)), np.tile(value, (1, group, 1, 1))",
        "grouped_query.repeated_heads",
    ),
    Mistake(
        "sinusoid exponent doubled",
        "numpy",
        "10000.0 ** (column / d_model)",
        "10000.0 ** (2 * column / d_model)",
        "sinusoid.values",
    ),
)

_TORCH = (
    Mistake("no scale", "torch", " / math.sqrt(query.shape[-1])", "", "attention.scale"),
    Mistake(
        "softmax over queries",
        "torch",
        "torch.softmax(logits, dim=-1)",
        "torch.softmax(logits, dim=-2)",
        "weights.rows_sum_to_one",
    ),
    Mistake(
        "mask polarity inverted",
        "torch",
        "logits.masked_fill(~mask,",
        "logits.masked_fill(mask,",
        "attention.mask.polarity",
    ),
    Mistake("causal mask transposed", "torch", ".tril()", ".triu()", "attention.causal.no_future_leak"),
    Mistake("diagonal off by one", "torch", ".tril()", ".tril(diagonal=1)", "attention.causal.no_future_leak"),
    Mistake(
        "causal dropped when lengths differ",
        "torch",
        "    if is_causal:",
        "    if is_causal and logits.shape[-1] == logits.shape[-2]:",
        "attention.causal.unequal_lengths",
    ),
    Mistake(
        "padding mask ignored for the last batch entry",
        "torch",
        "    if mask is not None:\n",
        "    if mask is not None:\n        mask = mask.expand(logits.shape).clone()\n        mask[-1] = True\n",
        "attention.mask.padding",
    ),
    Mistake(
        "heads merged without transpose",
        "torch",
        "merged = heads.transpose(1, 2).flatten(2)",
        "merged = heads.reshape(x.shape)",
        "multi_head.sum_of_heads",
    ),
    Mistake(
        "scale by d_model",
        "torch",
        "query = project(x, weights.w_q, weights.b_q)",
        "query = project(x, weights.w_q, weights.b_q) / math.sqrt(num_heads)",
        "multi_head.scale",
    ),
    Mistake(
        "keys and values swapped",
        "torch",
        "return attention_weights(query, key, mask=mask, is_causal=is_causal) @ value",
        "return attention_weights(query, value, mask=mask, is_causal=is_causal) @ key",
        "attention.values.hull",
    ),
    Mistake(
        "grouped heads tiled",
        "torch",
        "key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)",
        "key, value = key.repeat(1, group, 1, 1), value.repeat(1, group, 1, 1)",
        "grouped_query.repeated_heads",
    ),
    Mistake(
        "sinusoid exponent doubled",
        "torch",
        "(-torch.arange(0, d_model, 2) / d_model)",
        "(-2 * torch.arange(0, d_model, 2) / d_model)",
        "sinusoid.values",
    ),
)

_JAX = (
    Mistake("no scale", "jax", " / jnp.sqrt(query.shape[-1])", "", "attention.scale"),
    Mistake(
        "diagonal off by one",
        "jax",
        "jnp.tri(*logits.shape[-2:], dtype=bool)",
        "jnp.tri(*logits.shape[-2:], 1, dtype=bool)",
        "attention.causal.no_future_leak",
    ),
    Mistake(
        "grouped heads tiled",
        "jax",
        "key, value = jnp.repeat(key, group, axis=1), jnp.repeat(value, group, axis=1)",
        "key, value = jnp.tile(key, (1, group, 1, 1)), jnp.tile(value, (1, group, 1, 1))",
        "grouped_query.repeated_heads",
    ),
)


def _name(mistake: Mistake) -> str:
    return f"{mistake.source}-{mistake.name.replace(' ', '_').replace(',', '')}"


@pytest.mark.parametrize("mistake", (*_NUMPY, *_TORCH, *_JAX), ids=_name)
def test_the_law_that_names_the_mistake_fails_on_a_small_case(mistake: Mistake, tmp_path: Path) -> None:
    if mistake.source != "numpy":
        pytest.importorskip(mistake.source)
    report = check(str(mistake.write(tmp_path)), laws=(mistake.law,))
    result = report.results[0]
    assert result.status == "failed", f"{mistake.law} holds although the file has: {mistake.name}"
    assert report.exit_status == 1
    assert result.counterexample is not None
    _assert_readable(result.counterexample.case)
    assert np.asarray(result.counterexample.verdict.wrong).any()


def _assert_readable(case: object) -> None:
    if isinstance(case, AttentionCase):
        sizes = (case.query_length, case.key_length, case.head_width, case.value_width)
        assert max(sizes) <= 3, f"not small: {case.describe()}"
        assert case.batch <= 2
        assert case.heads <= 4


@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_the_file_without_a_mistake_conforms(source: str) -> None:
    if source != "numpy":
        pytest.importorskip(source)
    report: Report = check(str(SOURCES / f"attention_{source}.py"), tier="quick")
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.exit_status == 0
