"""The runner against implementations that misbehave: one clear sentence each, and no law harms another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.laws import LAWS

Array = np.ndarray
Attention = Callable[..., Any]


def right_softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(query: Array, key: Array, value: Array) -> Array:
    return right_softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))) @ value


def judged(*laws: str, seed: int = 0, **operations: Any) -> Report:
    """Check an object with the given operations (and dtypes, conventions)."""
    return check(SimpleNamespace(**operations), laws=laws or None, tier="quick", seed=seed, diagnosis=False)


def result(report: Report, law: str) -> LawResult:
    (found,) = (result for result in report.results if result.law.id == law)
    return found


def statuses(report: Report) -> dict[str, str]:
    return {result.law.id: result.status for result in report.results if result.status != "not_declared"}


# Operations that raise


def always_raises(x: Array) -> Array:
    raise RuntimeError("not today")


def test_an_operation_that_always_raises_gives_each_law_that_calls_it_an_error() -> None:
    report = judged("softmax.*", softmax=always_raises)
    found = statuses(report)
    assert found.pop("softmax.signature") == "passed"
    assert set(found.values()) == {"error"}
    assert result(report, "softmax.shift").reason == "softmax raised RuntimeError: not today"
    assert "always_raises" in result(report, "softmax.shift").traceback
    assert report.verdict == "violates"
    assert report.exit_status == 1


def test_one_operation_that_raises_leaves_the_others_alone() -> None:
    report = judged("softmax.*", "attention.scale", softmax=always_raises, scaled_dot_product_attention=attention)
    assert result(report, "attention.scale").status == "passed"


def test_an_operation_that_raises_sometimes_is_caught_with_the_case_on_which_it_does() -> None:
    def softmax(x: Array) -> Array:
        if x.shape[-1] == 2:
            raise IndexError("two is too many")
        return right_softmax(x)

    report = judged("softmax.value", "softmax.permutation", softmax=softmax)
    found = result(report, "softmax.permutation")
    assert found.status == "error"
    assert found.reason == "softmax raised IndexError: two is too many"
    assert found.counterexample is not None
    assert found.counterexample.case is not None
    assert found.counterexample.case.width == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("leave", (lambda: sys.exit(3), lambda: exit("bye"), lambda: quit()))
def test_an_operation_that_leaves_the_program_is_an_error_like_another(leave: Callable[[], None]) -> None:
    def softmax(x: Array) -> Array:
        leave()
        return x

    report = judged("softmax.value", softmax=softmax)
    assert result(report, "softmax.value").status == "error"
    assert result(report, "softmax.value").reason.startswith("softmax raised SystemExit")


def test_endless_recursion_is_an_error_like_another() -> None:
    def softmax(x: Array) -> Array:
        return softmax(x)

    found = result(judged("softmax.value", softmax=softmax), "softmax.value")
    assert found.status == "error"
    assert "RecursionError" in found.reason


def test_interrupting_the_program_interrupts_it() -> None:
    def softmax(x: Array) -> Array:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged("softmax.value", softmax=softmax)


def test_a_message_of_many_lines_becomes_one_sentence() -> None:
    def softmax(x: Array) -> Array:
        raise ValueError("first line\nsecond line\n" * 300)

    reason = result(judged("softmax.value", softmax=softmax), "softmax.value").reason
    assert reason == "softmax raised ValueError: first line"


# Results that cannot be judged, or are wrong

UNJUDGEABLE = (
    (lambda x: None, "softmax returned None; expected a numpy array of shape"),
    (lambda x: x.tolist(), "softmax returned a list of"),
    (lambda x: (x, x), "softmax returned a tuple of 2 things"),
    (lambda x: 1.5, "softmax returned the Python number 1.5"),
    (lambda x: x.astype(complex), "softmax returned an array of dtype complex128"),
    (lambda x: x.astype(str), "softmax returned an array of dtype str"),
    (lambda x: x[..., :1], "softmax returned shape"),
    (lambda x: x[0], "softmax returned shape"),
)


@pytest.mark.parametrize(("softmax", "sentence"), UNJUDGEABLE, ids=[sentence for _, sentence in UNJUDGEABLE])
def test_what_cannot_be_judged_is_an_error_that_says_what_came(softmax: Callable[..., Any], sentence: str) -> None:
    report = judged("softmax.permutation", softmax=softmax)
    found = result(report, "softmax.permutation")
    assert found.status == "error"
    assert found.reason.startswith(sentence)
    assert "\n" not in found.reason


def test_the_law_of_shape_names_both_shapes() -> None:
    found = result(judged("softmax.shape", softmax=lambda x: x[..., None]), "softmax.shape")
    assert found.status == "failed"
    assert found.counterexample is not None
    assert str(found.counterexample.verdict.expected).startswith("shape (1, 1, ")
    assert str(found.counterexample.verdict.actual).endswith(", 1)")


def test_the_law_of_dtype_names_the_dtype() -> None:
    found = result(judged("softmax.dtype", softmax=lambda x: right_softmax(x).astype(np.float64)), "softmax.dtype")
    assert found.status == "failed"
    assert found.counterexample is not None
    assert (found.counterexample.verdict.expected, found.counterexample.verdict.actual) == (
        "float32",
        "float64",
    )


def test_nan_is_never_a_right_answer_where_a_number_is_expected() -> None:
    report = judged("softmax.*", softmax=lambda x: x * np.nan)
    found = statuses(report)
    assert found["softmax.value"] == found["softmax.rows_sum_to_one"] == "failed"
    assert result(report, "softmax.value").largest_excess == float("inf")


def test_nan_is_not_at_least_zero_and_not_between_two_numbers() -> None:
    def nothing(query: Array, key: Array, value: Array) -> Array:
        return attention(query, key, value) * np.nan

    report = judged(
        "softmax.nonnegative",
        "attention.values.hull",
        softmax=lambda x: x * np.nan,
        scaled_dot_product_attention=nothing,
    )
    assert statuses(report) == {"softmax.nonnegative": "failed", "attention.values.hull": "failed"}


def test_one_nan_among_right_numbers_is_seen() -> None:
    def softmax(x: Array) -> Array:
        weights = right_softmax(x)
        weights[..., -1, -1] = np.nan
        return weights

    assert statuses(judged("softmax.value", softmax=softmax)) == {"softmax.value": "failed"}


# Side effects


def test_what_an_operation_prints_is_kept_from_the_report_and_mentioned_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def softmax(x: Array) -> Array:
        print("loading weights")
        print("to standard error", file=sys.stderr)
        return right_softmax(x)

    report = judged("softmax.value", "softmax.shift", softmax=softmax)
    assert capsys.readouterr() == ("", "")
    assert report.verdict == "conforms"
    (notice,) = report.notices
    assert notice == "softmax printed while it was called, beginning with 'loading weights'"


def test_of_a_warning_what_it_says_is_mentioned() -> None:
    def softmax(x: Array) -> Array:
        print("/site-packages/library/numbers.py:12: UserWarning: an axis of length 1", file=sys.stderr)
        return right_softmax(x)

    (notice,) = judged("softmax.value", softmax=softmax).notices
    assert notice == "softmax printed while it was called, beginning with 'UserWarning: an axis of length 1'"


def test_writing_to_an_input_breaks_the_law_about_that() -> None:
    def softmax(x: Array) -> Array:
        x -= x.max(axis=-1, keepdims=True)
        return right_softmax(x)

    report = judged("softmax.inputs_unchanged", "softmax.value", softmax=softmax)
    assert statuses(report) == {"softmax.inputs_unchanged": "failed", "softmax.value": "passed"}
    found = result(report, "softmax.inputs_unchanged").counterexample
    assert found is not None
    assert found.verdict.actual == "changed x"


def test_another_answer_at_the_second_call_breaks_the_law_about_that() -> None:
    calls = []

    def softmax(x: Array) -> Array:
        calls.append(x)
        return right_softmax(x) * np.float32(1 + 0.01 * (len(calls) % 2))

    assert statuses(judged("softmax.same_call_same_answer", softmax=softmax)) == {
        "softmax.same_call_same_answer": "failed"
    }


def test_what_the_last_call_left_behind_breaks_the_law_of_history() -> None:
    left_behind = {"scale": np.float32(1.0)}

    def leaving(query: Array, key: Array, value: Array) -> Array:
        output = attention(query * left_behind["scale"], key, value)
        left_behind["scale"] = np.float32(abs(query).mean())
        return output

    law = "attention.history_independence"
    assert statuses(judged(law, scaled_dot_product_attention=leaving)) == {law: "failed"}


def test_what_is_kept_by_the_place_of_an_array_breaks_the_law_of_history() -> None:
    kept: dict[tuple[int, tuple[int, ...]], tuple[Array, Array]] = {}

    def keeping(query: Array, key: Array, value: Array) -> Array:
        # The array is kept too, so that its place is never used again by chance.
        copied, _ = kept.setdefault((key.__array_interface__["data"][0], key.shape), (key.copy(), key))
        return attention(query, copied, value)

    law = "attention.history_independence"
    assert statuses(judged(law, scaled_dot_product_attention=keeping)) == {law: "failed"}


def test_logits_remembered_by_shape_are_seen_as_soon_as_shapes_repeat() -> None:
    remembered: dict[Any, Array] = {}

    def stale(query: Array, key: Array, value: Array) -> Array:
        logits = remembered.setdefault((query.shape, key.shape), query @ key.swapaxes(-1, -2))
        return right_softmax(logits / np.sqrt(np.float32(query.shape[-1]))) @ value

    law = "attention.queries.permutation"
    assert statuses(judged(law, scaled_dot_product_attention=stale)) == {law: "failed"}


def test_random_answers_are_reported_and_do_not_stop_the_run() -> None:
    generator = np.random.default_rng(0)

    def softmax(x: Array) -> Array:
        return right_softmax(x + generator.normal(size=x.shape).astype(x.dtype))

    report = judged("softmax.*", softmax=softmax)
    assert result(report, "softmax.same_call_same_answer").status == "failed"
    assert result(report, "softmax.value").status == "failed"
    assert result(report, "softmax.nonnegative").status == "passed"
    assert "error" not in statuses(report).values()


def test_an_answer_that_is_wrong_once_in_a_while_is_reported() -> None:
    calls = []

    def softmax(x: Array) -> Array:
        calls.append(x)
        return right_softmax(x) * np.float32(1.5 if len(calls) % 5 == 0 else 1.0)

    assert statuses(judged("softmax.value", softmax=softmax)) == {"softmax.value": "failed"}


# Names


def test_a_misspelt_keyword_breaks_the_law_of_the_signature_and_declares_nothing() -> None:
    def misspelt(query: Array, key: Array, value: Array, *, maks: Array | None = None) -> Array:
        return attention(query, key, value)

    report = judged("attention.signature", "attention.mask.value", scaled_dot_product_attention=misspelt)
    found = result(report, "attention.signature")
    assert found.status == "failed"
    assert found.counterexample is not None
    assert "keyword 'maks', which looks like 'mask' misspelt" in str(found.counterexample.verdict.actual)
    assert result(report, "attention.mask.value").status == "not_declared"
    assert result(report, "attention.mask.value").reason == "scaled_dot_product_attention has no keyword mask"


def test_a_misspelt_operation_is_noticed() -> None:
    report = judged("softmax.value", softmax=right_softmax, scaled_dot_prodct_attention=attention)
    assert any("scaled_dot_prodct_attention" in notice for notice in report.notices)
    assert any("scaled_dot_product_attention" in notice for notice in report.notices)


def test_what_is_not_declared_is_never_passed() -> None:
    report = check(SimpleNamespace(softmax=right_softmax), tier="quick")
    others = [found for found in report.results if found.law.operation.name != "softmax"]
    assert others
    for found in others:
        assert (found.status, found.cases) == ("not_declared", 0)
        assert found.reason == f"no operation {found.law.operation.name}"


# Verdicts


def test_all_is_well_where_every_declared_law_holds() -> None:
    report = judged("softmax.*", softmax=right_softmax)
    counts = report.counts
    assert (report.verdict, report.exit_status) == ("conforms", 0)
    assert counts["laws"] == counts["passed"] == len([law for law in LAWS if law.startswith("softmax.")])
    assert counts["failed"] == counts["errors"] == counts["not_declared"] == 0
    assert counts["cases"] >= counts["laws"]


def test_nothing_judged_is_an_error_and_not_a_success() -> None:
    report = judged("layer_norm.value", softmax=right_softmax)
    assert (report.verdict, report.exit_status) == ("error", 2)
    assert report.counts["not_declared"] == report.counts["laws"] == 1


def test_one_violation_decides() -> None:
    report = judged("softmax.value", "softmax.nonnegative", softmax=lambda x: right_softmax(x) * np.float32(1.01))
    assert (report.verdict, report.exit_status) == ("violates", 1)
    assert report.counts["passed"] == report.counts["failed"] == 1


def test_the_largest_error_is_told_of_laws_that_hold_and_of_those_that_do_not() -> None:
    holds = result(judged("softmax.value", softmax=right_softmax), "softmax.value")
    fails = result(judged("softmax.value", softmax=lambda x: right_softmax(x) * np.float32(1.01)), "softmax.value")
    assert 0.0 < holds.largest_excess <= 1.0 < fails.largest_excess


def test_a_law_about_a_bias_beside_a_mask_is_not_offered_where_the_pair_is_refused() -> None:
    def one_table(
        query: Array, key: Array, value: Array, *, mask: Array | None = None, bias: Array | None = None
    ) -> Any:
        if mask is not None and bias is not None:
            raise ValueError("only one of bias and mask can be provided")
        logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
        logits = logits if bias is None else logits + bias.astype(query.dtype)
        logits = logits if mask is None else np.where(mask, logits, np.finfo(query.dtype).min)
        return right_softmax(logits) @ value

    report = judged("attention.mask.composition", "attention.bias.value", scaled_dot_product_attention=one_table)
    assert result(report, "attention.bias.value").status == "passed"
    refused = result(report, "attention.mask.composition")
    assert refused.status == "not_declared"
    assert refused.reason == "scaled_dot_product_attention refuses a bias together with a mask"
