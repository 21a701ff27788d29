"""Two implementations compared: ports with other conventions, and a port with a mistake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Comparison, compare_implementations
from veriformer.conformance_tests.comparison import comparing
from veriformer.conformance_tests.comparison.case_comparison import Pair
from veriformer.conformance_tests.comparison.comparison import Cause, OperationComparison
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.selection import UnknownName
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.reports.comparison_json import comparison_as_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.two_implementations import details, only_one_has
from veriformer.conformance_tests.run.runner import Run
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.porting import PORTING, port_change

Array = np.ndarray
ATTENTION = "scaled_dot_product_attention"
COUNTINGS = ("inclusive", "exclusive")
SPEC = OPERATIONS[ATTENTION]
ALIGNMENTS: dict[str, Any] = {"top_left": 0, "bottom_right": 1}


def attention_of(alignment: str = "top_left", scaled: bool = True) -> Any:
    """Return attention written here, apart from the reference, whose causal flag aligns as told."""

    def scaled_dot_product_attention(
        query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
    ) -> Array:
        logits = query @ key.swapaxes(-1, -2)
        logits = logits / np.sqrt(query.shape[-1]) if scaled else logits
        queries, keys = logits.shape[-2:]
        offset = ALIGNMENTS[alignment] * (keys - queries)
        visible = np.tril(np.ones((queries, keys), bool), offset) if is_causal else np.ones((queries, keys), bool)
        logits = np.where(visible if mask is None else visible & mask, logits, -np.inf)
        largest = np.maximum(logits.max(axis=-1, keepdims=True), -1e30)
        weights = np.exp(logits - largest)
        total = weights.sum(axis=-1, keepdims=True)
        result = np.where(total > 0, weights / np.where(total > 0, total, 1), 0) @ value
        return np.asarray(result, dtype=query.dtype)

    return scaled_dot_product_attention


def test_the_mistake_is_named_as_check_names_it() -> None:
    right, wrong = (SimpleNamespace(**{ATTENTION: attention_of(scaled=scaled)}) for scaled in (True, False))
    comparison = compare_implementations(right, wrong, operations=(ATTENTION,), tier="quick")
    (operation,) = comparison.operations
    assert operation.checks[0] is None
    found = comparison_as_json(comparison)["operations"][0]["diagnosis"]
    assert found["first"] == []
    assert [(entry["mistake"], entry["confidence"]) for entry in found["second"]] == [("scale_missing", 1.0)]
    shown = "\n".join(line.plain for line in details(comparison, Options()))
    assert "Diagnosis of the second\n" in shown
    wanted = "correct what does not obey the laws: `scale_missing`: divide the logits by the root of a head's width"
    assert wanted in " ".join(shown.split())


def test_smaller_cases_of_laws_that_are_not_shown_are_looked_for_only_where_no_mistake_is_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shrinks: list[bool] = []

    class Noted(Run):
        def __init__(self, implementation: Any, options: Any) -> None:
            shrinks.append(options.shrink)
            super().__init__(implementation, options)

    monkeypatch.setattr(comparing, "Run", Noted)
    right, known = (SimpleNamespace(**{ATTENTION: attention_of(scaled=scaled)}) for scaled in (True, False))
    compare_implementations(right, known, operations=(ATTENTION,), tier="quick")
    assert shrinks == [False]
    shrinks.clear()
    odd = SimpleNamespace(**{ATTENTION: lambda query, key, value: np.sin(attention_of()(query, key, value) * 3 + 1)})
    (operation,) = compare_implementations(right, odd, operations=(ATTENTION,), tier="quick").operations
    assert shrinks == [False, True]
    assert operation.checks[1] is not None


def blhd_attention(
    query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
) -> Array:
    """Attention that takes lengths before heads."""
    moved = (array.swapaxes(1, 2) for array in (query, key, value))
    result: Array = attention_of()(*moved, mask=mask, is_causal=is_causal).swapaxes(1, 2)
    return result


def hiding_attention(
    query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
) -> Array:
    """Attention whose mask is True at what is hidden."""
    result: Array = attention_of()(query, key, value, mask=None if mask is None else ~mask, is_causal=is_causal)
    return result


def windowed(counting: Any) -> Any:
    """Return attention whose window counts the query's own key, or does not."""

    def scaled_dot_product_attention(query: Array, key: Array, value: Array, *, window: Any = None) -> Array:
        shown = None
        if window is not None:
            shown = reference.window_mask(query.shape[2], key.shape[2], window, window_counting=counting)[None, None]
        result: Array = attention_of()(query, key, value, mask=shown)
        return result

    return scaled_dot_product_attention


def rotary_of(pairing: Any) -> Any:
    def rotary_embedding(x: Array, positions: Array) -> Array:
        return reference.rotary_embedding(x, positions, pairing=pairing).astype(x.dtype)

    return rotary_embedding


def compared(first: Any, second: Any, *operations: str) -> Comparison:
    return compare_implementations(first, second, operations=operations or None, tier="quick")


def of_attention(first: Any, second: Any, **declared: Any) -> OperationComparison:
    original = SimpleNamespace(scaled_dot_product_attention=first)
    port = SimpleNamespace(scaled_dot_product_attention=second, **declared)
    (operation,) = compared(original, port).operations
    return operation


def test_an_implementation_agrees_with_itself() -> None:
    operation = of_attention(attention_of(), attention_of())
    assert operation.agrees
    assert operation.changes == {}
    assert operation.cases > 10
    assert operation.largest_excess == 0


def test_a_port_that_aligns_bottom_right_differs_by_that_convention() -> None:
    operation = of_attention(attention_of(), attention_of("bottom_right"))
    assert operation.causes == (Cause("both", ("causal_alignment",)),)
    assert "pass an explicit mask" in operation.changes["causal_alignment"]
    assert "aligns the causal flag bottom-right" in operation.changes["causal_alignment"]
    case: Any = operation.differences[0].case
    assert case.is_causal
    assert case.query_length != case.key_length
    assert case.query_length + case.key_length <= 4


def test_an_agreement_against_declared_conventions_is_told_and_asks_for_no_change() -> None:
    operation = of_attention(attention_of(), attention_of(), conventions={"causal_alignment": "bottom_right"})
    assert operation.agrees
    assert operation.contradicts == (False, True)
    assert operation.changes == {}


def test_rows_that_see_no_key_are_compared_where_both_put_the_same_there() -> None:
    compared = of_attention(attention_of("bottom_right"), attention_of("bottom_right"))
    assert compared.agrees
    pair = Pair(*(examine(load(SimpleNamespace(scaled_dot_product_attention=attention_of())), SPEC) for _ in range(2)))
    assert pair.compares_empty_rows
    case = AttentionCase(2, 3, 3, 3, 4, 2, 2, mask="empty_rows", seed=7)
    on_one_case = pair.compare(case)
    assert on_one_case.cause is None
    assert on_one_case.excess == 0


def test_a_window_that_counts_otherwise_differs_by_that_convention() -> None:
    original, port = (SimpleNamespace(scaled_dot_product_attention=windowed(each)) for each in COUNTINGS)
    (operation,) = compared(original, port).operations
    assert operation.causes == (Cause("both", ("window_counting",)),)
    assert operation.changes["window_counting"].startswith("pass a left window that is larger by one")


def test_another_layout_agrees_and_is_told() -> None:
    operation = of_attention(attention_of(), blhd_attention, conventions={"layout": "blhd"})
    assert operation.agrees
    assert "exchange the second and the third axis" in operation.changes["layout"]


def test_a_layout_that_is_not_declared_is_found() -> None:
    assert of_attention(attention_of(), blhd_attention).agrees


def test_inverted_polarity_agrees_where_it_is_declared() -> None:
    operation = of_attention(attention_of(), hiding_attention, conventions={"mask_polarity": "true_is_masked"})
    assert operation.agrees
    assert "invert the mask" in operation.changes["mask_polarity"]


def test_inverted_polarity_that_is_not_declared_is_a_mistake() -> None:
    operation = of_attention(attention_of(), hiding_attention)
    assert {cause.side for cause in operation.causes} == {"first"}


def test_half_split_rotary_differs_by_its_pairing() -> None:
    original, port = (SimpleNamespace(rotary_embedding=rotary_of(pairing)) for pairing in ("interleaved", "half"))
    (operation,) = compared(original, port).operations
    assert operation.causes == (Cause("both", ("rotary_pairing",)),)
    assert "even components before the odd ones" in operation.changes["rotary_pairing"]


def test_the_laws_side_with_the_one_that_is_right() -> None:
    wrong, right = attention_of(scaled=False), attention_of()
    assert of_attention(right, wrong).causes == (Cause("first"),)
    assert of_attention(wrong, right).causes == (Cause("second"),)


def test_a_mistake_beside_a_convention_is_told_apart() -> None:
    operation = of_attention(attention_of(), attention_of("bottom_right", scaled=False))
    assert operation.causes[0].side == "first"
    assert operation.differences[0].expected[0] is not None


def test_two_different_mistakes_side_with_neither() -> None:
    def doubled(x: Array) -> Array:
        return 2 * reference.softmax(x).astype(x.dtype)

    def tripled(x: Array) -> Array:
        return 3 * reference.softmax(x).astype(x.dtype)

    (operation,) = compared(SimpleNamespace(softmax=doubled), SimpleNamespace(softmax=tripled)).operations
    assert operation.causes == (Cause("neither"),)


def test_one_that_raises_is_sided_against() -> None:
    def refuses(x: Array) -> Array:
        raise ValueError("no kernel for this shape")

    right = SimpleNamespace(softmax=lambda x: reference.softmax(x).astype(x.dtype))
    (operation,) = compared(right, SimpleNamespace(softmax=refuses)).operations
    assert operation.causes == (Cause("first", raised=True),)
    assert "no kernel for this shape" in operation.differences[0].errors[1]


def test_a_difference_within_the_two_tolerances_is_agreement() -> None:
    def in_double(x: Array) -> Array:
        return reference.softmax(x.astype(np.float64)).astype(np.float32)

    def in_single(x: Array) -> Array:
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)

    (operation,) = compared(SimpleNamespace(softmax=in_double), SimpleNamespace(softmax=in_single)).operations
    assert operation.agrees
    assert 0 < operation.largest_excess < 1


def test_nothing_in_common_is_an_error() -> None:
    original = SimpleNamespace(softmax=lambda x: x)
    comparison = compared(original, SimpleNamespace(silu=lambda x: x))
    assert (comparison.verdict, comparison.exit_status) == ("error", 2)
    assert comparison.only_first == ("softmax",)
    assert comparison.only_second == ("silu",)


def test_no_common_dtype_is_a_reason() -> None:
    original = SimpleNamespace(softmax=lambda x: x, dtypes=("float64",))
    comparison = compared(original, SimpleNamespace(softmax=lambda x: x))
    assert comparison.exit_status == 2
    assert comparison.operations[0].reason == "no dtype in common: float64 and float32"


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UnknownName, match="softmaxx"):
        compared("numpy", "numpy", "softmaxx")


def test_the_reference_and_torch_agree() -> None:
    pytest.importorskip("torch")
    comparison = compared("numpy", "torch", ATTENTION, "multi_head_attention", "layer_norm", "encoder_layer")
    assert comparison.verdict == "agree"
    assert len(comparison.compared) == 4
    attention = comparison.operations[0]
    assert "causal_with_mask" in attention.changes
    assert "masked_nonfinite" in attention.conventions_not_met


def test_the_reference_and_jax_differ_by_the_form_of_gelu() -> None:
    pytest.importorskip("jax")
    comparison = compared("numpy", "jax", "softmax", "gelu", "silu")
    outcomes = {each.operation.name: each.causes for each in comparison.operations}
    assert outcomes == {"softmax": (), "gelu": (Cause("both", ("gelu_form",)),), "silu": ()}
    assert comparison.exit_status == 1


def test_the_same_seed_meets_the_same_cases() -> None:
    one, other = (of_attention(attention_of(), attention_of("bottom_right")) for _ in range(2))
    assert one.differences[0].case == other.differences[0].case
    assert one.differing == other.differing


def test_every_value_of_every_convention_says_how_to_port_it() -> None:
    assert {name: set(values) for name, values in PORTING.items()} == {
        name: set(convention.value_names) for name, convention in CONVENTIONS.items()
    }


def test_a_change_names_the_port_and_what_it_does() -> None:
    sentence = port_change("window_counting", "inclusive", "exclusive", "B")
    assert sentence == "pass a left window that is larger by one: B counts the query's own key among the window's"


def test_a_change_of_an_unknown_value_is_refused() -> None:
    with pytest.raises(KeyError):
        port_change("window_counting", "inclusive", "sideways", "B")


def test_as_json_a_parting_has_its_case_and_both_results() -> None:
    original = SimpleNamespace(scaled_dot_product_attention=attention_of())
    port = SimpleNamespace(scaled_dot_product_attention=attention_of("bottom_right"))
    (operation,) = comparison_as_json(compared(original, port))["operations"]
    (parting,) = operation["partings"]
    assert operation["status"] == "part"
    assert (parting["laws_side_with"], parting["conventions"]) == ("both", ["causal_alignment"])
    first, second = (np.array(result) for result in parting["results"])
    assert first.shape == second.shape
    assert parting["differing"] == np.argwhere(first != second).tolist()


def test_what_only_one_takes_is_told() -> None:
    def scaling(query: Array, key: Array, value: Array, *, scale: float | None = None) -> Array:
        factor = 1.0 if scale is None else scale * np.sqrt(query.shape[-1])
        result: Array = attention_of()(query * query.dtype.type(factor), key, value)
        return result

    original = SimpleNamespace(scaled_dot_product_attention=scaling, dtypes=("float32", "float64"))
    port = SimpleNamespace(scaled_dot_product_attention=attention_of(), limitations=("value_width",))
    comparison = compared(original, port)
    (operation,) = comparison.operations
    assert operation.keywords == (("scale",), ("is_causal", "mask"))
    assert operation.limitations == ((), ("value_width",))
    assert comparison.dtypes == (("float64",), ())
    page = " ".join(line.plain for line in only_one_has(comparison, Options(width=200)))
    assert "takes scale (scaled_dot_product_attention)." in page
    assert "refuses a case (value_width): the values must be as wide as the queries and keys (Dv = D)" in page
    assert "declares float64." in page
    (written,) = comparison_as_json(comparison)["operations"]
    assert written["keywords"] == [["scale"], ["is_causal", "mask"]]


def test_a_convention_about_two_keywords_is_told_where_both_have_both() -> None:
    def without_flag(query: Array, key: Array, value: Array, *, mask: Array | None = None) -> Array:
        result: Array = attention_of()(query, key, value, mask=mask)
        return result

    both = of_attention(attention_of(), attention_of())
    assert "causal_with_mask" in {pair.name for pair in both.conventions}
    declared = {"conventions": {"causal_with_mask": "rejects"}}
    one = of_attention(attention_of(), without_flag, **declared)
    assert "causal_with_mask" not in {pair.name for pair in one.conventions}
    assert one.changes == {}
