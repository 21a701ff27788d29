"""Conventions are found by probing, mistakes are not taken for conventions, and contradicted declarations show.

The implementations are small NumPy programs written for these tests, each with one decision made otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Report, check, identify
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray
PLAIN, GROUPED = "scaled_dot_product_attention", "grouped_query_attention"
# The laws that depend on how masks and the causal flag are understood.
MASKS = ("*.mask.*", "*.causal.*", "*.scale", "*.shape", "*.values.hull")


@dataclass(frozen=True)
class Choices:
    """The decisions of one implementation of attention."""

    offset: Callable[[int, int], int] = lambda queries, keys: 0
    empty_row: str = "zeros"
    nonfinite: str = "ignored"
    blhd: bool = False
    tile: bool = False
    true_is_masked: bool = False
    rejects: bool = False
    softmax_dtype: str | None = None


def implementation(choices: Choices, *, grouped: bool = False, **declared: Any) -> SimpleNamespace:
    """Return an object with one attention operation."""

    def attention(
        query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
    ) -> Array:
        if choices.rejects and is_causal and mask is not None:
            raise ValueError("mask and is_causal cannot be given together")
        if choices.blhd:
            query, key, value = (array.swapaxes(1, 2) for array in (query, key, value))
        output = _attention(choices, query, key, value, mask, is_causal)
        return output.swapaxes(1, 2) if choices.blhd else output

    return SimpleNamespace(**{GROUPED if grouped else PLAIN: attention}, **declared)


def _attention(choices: Choices, query: Array, key: Array, value: Array, mask: Array | None, causal: bool) -> Array:
    group = query.shape[1] // key.shape[1]
    if choices.tile:
        key, value = (np.tile(array, (1, group, 1, 1)) for array in (key, value))
    else:
        key, value = (np.repeat(array, group, axis=1) for array in (key, value))
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    visible = _visible(choices, logits.shape, mask, causal)
    weights = _weights(choices, logits, visible).astype(query.dtype)
    if choices.nonfinite != "ignored":
        return weights @ value
    seen = visible | ~visible.any(axis=-1, keepdims=True)
    return np.where(seen[..., None], weights[..., None] * value[:, :, None], 0).sum(axis=-2, dtype=query.dtype)


def _visible(choices: Choices, shape: tuple[int, ...], mask: Array | None, causal: bool) -> Array:
    visible = np.ones(shape, dtype=bool)
    if mask is not None:
        visible = visible & (~mask if choices.true_is_masked else mask)
    if causal:
        rows, columns = np.ogrid[: shape[-2], : shape[-1]]
        visible = visible & (columns <= rows + choices.offset(shape[-2], shape[-1]))
    return visible


def _weights(choices: Choices, logits: Array, visible: Array) -> Array:
    if choices.softmax_dtype:
        logits = logits.astype(choices.softmax_dtype)
    lowest = -np.inf if choices.empty_row != "mean_of_values" else np.finfo(logits.dtype).min
    if choices.nonfinite == "propagates":
        logits = logits + np.where(visible, 0, lowest).astype(logits.dtype)
    else:
        logits = np.where(visible, logits, lowest).astype(logits.dtype)
    highest = logits.max(axis=-1, keepdims=True)
    if choices.empty_row == "zeros":
        highest = np.where(np.isneginf(highest), 0, highest)
    exponentials = np.exp(logits - highest)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / (np.where(total == 0, 1, total) if choices.empty_row == "zeros" else total)


def found(target: object, operation: str) -> dict[str, tuple[str, str]]:
    """Return the value of each convention and how it is known."""
    findings = examine(load(target), OPERATIONS[operation]).findings
    return {finding.convention: (finding.value, finding.how) for finding in findings}


def judged(target: object, *laws: str) -> Report:
    return check(target, laws=laws or MASKS, tier="quick", diagnosis=False)


def failures(report: Report) -> set[str]:
    return {result.law.id for result in report.results if result.status in ("failed", "error")}


def bottom_right(queries: int, keys: int) -> int:
    return keys - queries


CONVENTIONAL = (
    ("causal_alignment", "top_left", Choices()),
    ("causal_alignment", "bottom_right", Choices(offset=bottom_right)),
    ("causal_with_mask", "intersect", Choices()),
    ("causal_with_mask", "rejects", Choices(rejects=True)),
    ("empty_row", "zeros", Choices()),
    ("empty_row", "nan", Choices(empty_row="nan")),
    ("empty_row", "mean_of_values", Choices(empty_row="mean_of_values")),
    ("masked_nonfinite", "ignored", Choices()),
    ("masked_nonfinite", "value_propagates", Choices(nonfinite="value_propagates")),
    ("masked_nonfinite", "propagates", Choices(nonfinite="propagates")),
    ("layout", "bhld", Choices()),
    ("layout", "blhd", Choices(blhd=True)),
)
NAMES = [f"{convention} {value}" for convention, value, _ in CONVENTIONAL]


@pytest.mark.parametrize(("convention", "value", "choices"), CONVENTIONAL, ids=NAMES)
def test_a_convention_that_is_not_declared_is_found(convention: str, value: str, choices: Choices) -> None:
    assert found(implementation(choices), PLAIN)[convention] == (value, "inferred")


def test_what_reads_no_key_tells_nothing_of_hidden_ones() -> None:
    def of_nothing(query: Array, key: Array, value: Array, *, mask: Array | None = None) -> Array:
        return np.zeros((*query.shape[:3], value.shape[-1]), query.dtype)

    assert found(SimpleNamespace(scaled_dot_product_attention=of_nothing), PLAIN)["masked_nonfinite"][1] == "standard"


@pytest.mark.parametrize(("convention", "value", "choices"), CONVENTIONAL, ids=NAMES)
def test_a_convention_that_is_declared_is_not_asked_about(convention: str, value: str, choices: Choices) -> None:
    declared = implementation(choices, conventions={convention: value})
    assert found(declared, PLAIN)[convention] == (value, "declared")


EVERY_CHOICE = {f"{choices}": choices for _, _, choices in CONVENTIONAL}
TOGETHER = Choices(offset=bottom_right, empty_row="mean_of_values", nonfinite="value_propagates", blhd=True)


@pytest.mark.parametrize(
    "choices",
    (*(choices for _, value, choices in CONVENTIONAL if choices != Choices()), Choices(), TOGETHER),
    ids=(*(value for _, value, choices in CONVENTIONAL if choices != Choices()), "standard", "many at once"),
)
def test_whoever_obeys_a_convention_obeys_the_laws(choices: Choices) -> None:
    report = judged(implementation(choices))
    assert report.verdict == "conforms", failures(report)
    assert report.counts["passed"] >= 15


def test_several_conventions_are_found_at_once() -> None:
    answers = found(implementation(TOGETHER), PLAIN)
    assert answers["causal_alignment"] == ("bottom_right", "inferred")
    assert answers["empty_row"] == ("mean_of_values", "inferred")
    assert answers["masked_nonfinite"] == ("value_propagates", "inferred")
    assert answers["layout"] == ("blhd", "inferred")


def test_refusing_mask_and_flag_together_is_not_offered_rather_than_passed() -> None:
    report = judged(implementation(Choices(rejects=True)), "attention.causal.with_padding")
    (result,) = (result for result in report.results)
    assert result.status == "not_declared"
    assert "refuses a mask together with the causal flag" in result.reason


def refusing_unequal_widths(
    query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
) -> Array:
    """Refuse mask and flag together in one of two kernels, as torch does; the widths choose the kernel."""
    if is_causal and mask is not None and value.shape[-1] != key.shape[-1]:
        raise ValueError("mask and is_causal cannot be given together")
    return _attention(Choices(), query, key, value, mask, is_causal)


def test_refusing_mask_and_flag_at_some_widths_only_is_refusing_them() -> None:
    target = SimpleNamespace(scaled_dot_product_attention=refusing_unequal_widths)
    assert found(target, PLAIN)["causal_with_mask"] == ("rejects", "inferred")
    report = judged(target)
    assert report.verdict == "conforms", failures(report)
    item = next(one for one in identify(target).conventions if one.convention == "causal_with_mask")
    assert (item.value, item.how, item.told) == ("rejects", "inferred", "told")
    (evidence,) = item.evidence
    assert "value (2, 3, 4, 3)" in evidence.asked
    assert "cannot be given together" in evidence.came


def test_widths_that_are_refused_by_themselves_are_no_refusal_of_both() -> None:
    def equal_widths_only(
        query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False
    ) -> Array:
        if value.shape[-1] != key.shape[-1]:
            raise ValueError("values have to be as wide as keys")
        return _attention(Choices(), query, key, value, mask, is_causal)

    target = SimpleNamespace(scaled_dot_product_attention=equal_widths_only)
    assert found(target, PLAIN)["causal_with_mask"] == ("intersect", "inferred")


def test_a_declared_tile_of_key_value_heads_is_honoured() -> None:
    tiled = implementation(Choices(tile=True), grouped=True, conventions={"kv_grouping": "tile"})
    assert found(tiled, GROUPED)["kv_grouping"] == ("tile", "declared")
    report = judged(tiled, "grouped_query.repeated_heads", "grouped_query.mask.*", "grouped_query.heads.*")
    assert report.verdict == "conforms", failures(report)


@pytest.mark.parametrize("value", ("input", "float32"))
def test_the_precision_of_the_softmax_is_found_from_float64(value: str) -> None:
    choices = Choices(softmax_dtype="float32" if value == "float32" else None)
    target = implementation(choices, dtypes=("float32", "float64"))
    assert found(target, PLAIN)["softmax_dtype"] == (value, "inferred")
    report = judged(target)
    assert report.verdict == "conforms", failures(report)


def test_sines_beside_cosines_are_found() -> None:
    target = SimpleNamespace(sinusoidal_positions=concatenated_positions)
    assert found(target, "sinusoidal_positions")["sinusoidal_layout"] == ("concatenated", "inferred")
    report = check(target, tier="quick")
    assert report.verdict == "conforms", failures(report)


def concatenated_positions(length: int, d_model: int) -> Array:
    frequencies = 10000.0 ** (-2.0 * np.arange(d_model // 2) / d_model)
    angles = np.arange(length)[:, None] * frequencies
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=-1).astype(np.float32)


def test_a_mask_aligned_at_the_last_key_is_found() -> None:
    def causal_mask(query_length: int, key_length: int) -> Array:
        return np.tril(np.ones((query_length, key_length), dtype=bool), key_length - query_length)

    target = SimpleNamespace(causal_mask=causal_mask)
    assert found(target, "causal_mask")["causal_alignment"] == ("bottom_right", "inferred")
    assert check(target, tier="quick").verdict == "conforms"


# What follows is wrong, and looks like a convention only from afar.


@pytest.mark.parametrize("offset", (1, -1, 2))
def test_a_diagonal_off_by_some_is_no_alignment(offset: int) -> None:
    wrong = implementation(Choices(offset=lambda queries, keys: offset))
    assert found(wrong, PLAIN)["causal_alignment"] == ("top_left", "standard")
    assert "attention.causal.unequal_lengths" in failures(judged(wrong, "attention.causal.*"))


def test_bottom_right_off_by_one_is_no_alignment() -> None:
    wrong = implementation(Choices(offset=lambda queries, keys: keys - queries + 1))
    assert found(wrong, PLAIN)["causal_alignment"] == ("top_left", "standard")
    assert failures(judged(wrong, "attention.causal.*"))


def test_a_mask_upside_down_is_no_convention_unless_declared() -> None:
    choices = Choices(true_is_masked=True)
    assert found(implementation(choices), PLAIN)["mask_polarity"] == ("true_attends", "standard")
    assert "attention.mask.polarity" in failures(judged(implementation(choices), "attention.mask.polarity"))
    declared = implementation(choices, conventions={"mask_polarity": "true_is_masked"})
    report = judged(declared)
    assert report.verdict == "conforms", failures(report)


def test_tiled_heads_are_no_convention_unless_declared() -> None:
    tiled = implementation(Choices(tile=True), grouped=True)
    assert found(tiled, GROUPED)["kv_grouping"] == ("repeat_each", "standard")
    assert "grouped_query.repeated_heads" in failures(judged(tiled, "grouped_query.repeated_heads"))


@pytest.mark.parametrize("seed", (0, 1))
def test_tiled_heads_break_laws_of_heads_and_no_symmetry_by_rounding(seed: int) -> None:
    """Other keys than the formula's give larger logits, and rounding with them, than its error bound knows of."""
    tiled = implementation(Choices(tile=True), grouped=True)
    symmetries = ("tokens.permutation", "queries.permutation", "keys.shift", "keys.all_twice", "values.linear")
    selected = tuple(f"grouped_query.{key}" for key in (*symmetries, "heads.permutation", "heads.independence"))
    report = check(tiled, laws=selected, seed=seed)
    assert failures(report) == {"grouped_query.heads.permutation", "grouped_query.heads.independence"}


def test_a_layout_that_mixes_axes_up_is_no_layout() -> None:
    def width_before_length(query: Array, key: Array, value: Array) -> Array:
        return _attention(Choices(), query, key, value, None, False).swapaxes(2, 3)

    wrong = SimpleNamespace(scaled_dot_product_attention=width_before_length)
    assert found(wrong, PLAIN)["layout"] == ("bhld", "standard")
    assert failures(judged(wrong, "attention.shape")) == {"attention.shape"}


CONTRADICTED = (
    ({"causal_alignment": "bottom_right"}, Choices(), "attention.causal.unequal_lengths"),
    ({"causal_alignment": "top_left"}, Choices(offset=bottom_right), "attention.causal.unequal_lengths"),
    ({"causal_with_mask": "intersect"}, Choices(rejects=True), "attention.causal.with_padding"),
    ({"empty_row": "nan"}, Choices(), "attention.mask.empty_row"),
    ({"empty_row": "mean_of_values"}, Choices(), "attention.mask.empty_row"),
    ({"empty_row": "zeros"}, Choices(empty_row="nan"), "attention.mask.empty_row"),
    (
        {"masked_nonfinite": "ignored"},
        Choices(nonfinite="propagates"),
        "attention.mask.nonfinite_behind_mask",
    ),
    (
        {"masked_nonfinite": "value_propagates"},
        Choices(nonfinite="propagates"),
        "attention.mask.nonfinite_behind_mask",
    ),
    ({"layout": "blhd"}, Choices(), "attention.shape"),
    ({"mask_polarity": "true_is_masked"}, Choices(), "attention.mask.polarity"),
)


@pytest.mark.parametrize(("conventions", "choices", "law"), CONTRADICTED, ids=[f"{c[0]}" for c in CONTRADICTED])
def test_a_declaration_that_is_not_true_is_a_violation(conventions: dict[str, str], choices: Choices, law: str) -> None:
    report = judged(implementation(choices, conventions=conventions), law)
    assert failures(report) == {law}
    assert report.exit_status == 1


def test_a_softmax_declared_in_the_inputs_precision_has_to_be() -> None:
    choices = Choices(softmax_dtype="float32")
    wrong = implementation(choices, conventions={"softmax_dtype": "input"}, dtypes=("float64",))
    assert "attention.scale" in failures(judged(wrong, "attention.scale"))


def test_tiling_declared_and_not_done_is_a_violation() -> None:
    wrong = implementation(Choices(), grouped=True, conventions={"kv_grouping": "tile"})
    assert "grouped_query.repeated_heads" in failures(judged(wrong, "grouped_query.repeated_heads"))


def test_sinusoids_declared_in_another_order_are_a_violation() -> None:
    wrong = SimpleNamespace(
        sinusoidal_positions=concatenated_positions, conventions={"sinusoidal_layout": "interleaved"}
    )
    assert "sinusoid.values" in failures(check(wrong, tier="quick", laws=("sinusoid.values",)))


def test_an_operations_own_declaration_overrides_the_general_one() -> None:
    declared = {"empty_row": "zeros", f"{PLAIN}.empty_row": "nan"}
    target = implementation(Choices(empty_row="nan"), conventions=declared)
    assert found(target, PLAIN)["empty_row"] == ("nan", "declared")


def test_nothing_is_inferred_from_an_operation_that_always_raises() -> None:
    def attention(query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False) -> Array:
        raise RuntimeError("not today")

    answers = found(SimpleNamespace(scaled_dot_product_attention=attention), PLAIN)
    assert {how for _, how in answers.values()} == {"standard"}


def test_values_as_wide_as_keys_are_found_where_nothing_else_works() -> None:
    def attention(query: Array, key: Array, value: Array) -> Array:
        assert value.shape[-1] == key.shape[-1]
        return _attention(Choices(), query, key, value, None, False)

    profile = examine(load(SimpleNamespace(scaled_dot_product_attention=attention)), OPERATIONS[PLAIN])
    assert profile.equal_widths
    free = examine(load(implementation(Choices())), OPERATIONS[PLAIN])
    assert not free.equal_widths


def test_the_tests_own_implementation_is_right_by_another_program() -> None:
    generator = np.random.default_rng(0)
    query, key, value = (generator.normal(size=(2, 3, 4, 5)) for _ in range(3))
    one_by_one = np.empty_like(query)
    for b, h, i in np.ndindex(2, 3, 4):
        exponentials = np.exp(key[b, h] @ query[b, h, i] / np.sqrt(5.0))
        one_by_one[b, h, i] = exponentials @ value[b, h] / exponentials.sum()
    np.testing.assert_allclose(_attention(replace(Choices()), query, key, value, None, False), one_by_one, rtol=1e-12)
