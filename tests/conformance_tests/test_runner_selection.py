"""What a run tries is what was selected, and the same selection with the same seed is the same run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.errors import LoadError
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core import selection as selection_module
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import BATCHES, EXAMPLES, Selection, UnknownName
from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.spec.laws import LAWS

Array = np.ndarray


def test_backward_passes_have_fewer_cases_of_laws_in_which_values_count_for_little() -> None:
    selection = Selection()
    assert selection.examples_of("gelu_backward", "grad_x") == selection.examples_of("gelu_backward") == 10
    assert selection.examples_of("gelu_backward", "shape") == 5
    assert selection.examples_of("gelu", "shape") == 20
    assert selection.examples_of("gelu", "memory_layout") == 10
    assert Selection(effort="quick").examples_of("gelu", "memory_layout") == 8
    assert selection.examples_of("encoder_backward", "grad_layers") == 5
    assert selection.examples_of("encoder_backward", "grad_output.linear") == 2
    assert Selection(effort="quick").examples_of("encoder_backward", "shape") == 2
    backward = {law.claim.key for law in LAWS.values() if law.operation.forward}
    assert backward >= selection_module._OF_ANY_VALUES


def right_softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(query: Array, key: Array, value: Array) -> Array:
    return right_softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))) @ value


def too_large(x: Array) -> Array:
    return right_softmax(x) * np.float32(1.01)


def judged(*laws: str, seed: int = 0, **operations: Any) -> Report:
    """Check an object with the given operations (and dtypes, conventions)."""
    return check(SimpleNamespace(**operations), laws=laws or None, tier="quick", seed=seed)


def result(report: Report, law: str) -> LawResult:
    (found,) = (result for result in report.results if result.law.id == law)
    return found


def chosen(**selection: Any) -> set[str]:
    target = SimpleNamespace(softmax=right_softmax, scaled_dot_product_attention=attention)
    return {found.law.id for found in check(target, tier="quick", **selection).results}


def test_laws_are_chosen_by_operation() -> None:
    assert chosen(operations=("softmax",)) == {law for law in LAWS if law.startswith("softmax.")}


def test_laws_are_chosen_by_id_and_by_pattern() -> None:
    assert chosen(laws=("softmax.shift",)) == {"softmax.shift"}
    assert chosen(laws=("*.shape", "softmax.s*")) == {
        *(law for law in LAWS if law.endswith(".shape")),
        *(law for law in LAWS if law.startswith("softmax.s")),
    }


def test_operation_and_pattern_both_choose() -> None:
    assert chosen(operations=("softmax",), laws=("*.shape",)) == {"softmax.shape"}


def test_dtypes_are_chosen() -> None:
    met = set()

    def softmax(x: Array) -> Array:
        met.add(x.dtype.name)
        return right_softmax(x)

    check(SimpleNamespace(softmax=softmax), laws=("softmax.value",), dtypes=("float16",), tier="quick")
    assert met == {"float16"}


def test_a_dtype_that_the_framework_lacks_is_an_error() -> None:
    with pytest.raises(LoadError, match="numpy has no bfloat16"):
        check(SimpleNamespace(softmax=right_softmax), dtypes=("bfloat16",))


@pytest.mark.parametrize("tier", EXAMPLES)
def test_the_tier_says_how_many_cases(tier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veriformer.conformance_tests.search.search.rare_cases", lambda *_, **__: [])
    report = check(SimpleNamespace(cross_entropy=reference.cross_entropy), laws=("cross_entropy.value",), tier=tier)
    assert EXAMPLES[tier] * 0.7 <= result(report, "cross_entropy.value").cases <= EXAMPLES[tier] + 1


@pytest.mark.parametrize("tier", BATCHES)
def test_the_tier_says_how_many_calls_carry_many_cases_each(tier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veriformer.conformance_tests.search.search.rare_cases", lambda *_, **__: [])
    samples = []

    def recording(query: Array, key: Array, value: Array) -> Array:
        samples.append(len(query))
        return attention(query, key, value)

    report = check(SimpleNamespace(scaled_dot_product_attention=recording), laws=("attention.scale",), tier=tier)
    # What asks for the conventions comes before, one shape comes again, and a call of less than four samples is a case.
    tried = samples[-BATCHES[tier] - 1 :]
    assert result(report, "attention.scale").cases == sum(batch if batch > 3 else 1 for batch in tried)
    assert max(tried) >= 20


@pytest.mark.parametrize(
    ("selection", "sentence"),
    (
        ({"operations": ("sofmax",)}, "no operation is called 'sofmax'; did you mean softmax?"),
        ({"laws": ("softmax.shfit",)}, "no law is called 'softmax.shfit'; did you mean softmax.shift"),
        ({"laws": ("softmax.q*",)}, "no law is called 'softmax.q*'"),
        ({"tier": "quik"}, "no tier is called 'quik'; did you mean quick?"),
    ),
)
def test_a_name_that_nothing_has_is_refused_with_what_was_meant(selection: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnknownName) as refused:
        check(SimpleNamespace(softmax=right_softmax), **selection)
    assert str(refused.value).startswith(sentence)
    assert "(see: " in str(refused.value)


def test_a_selection_of_nothing_is_everything() -> None:
    everything = Selection()
    assert all(everything.includes(law) for law in LAWS)


# Repeatability


def seen_inputs(**settings: Any) -> list[bytes]:
    inputs = []

    def softmax(x: Array) -> Array:
        inputs.append(x.tobytes())
        return right_softmax(x)

    check(SimpleNamespace(softmax=softmax), tier="quick", **settings)
    assert inputs
    return inputs


def test_the_same_seed_gives_the_same_cases() -> None:
    assert seen_inputs(seed=3, laws=("softmax.value",)) == seen_inputs(seed=3, laws=("softmax.value",))


def test_another_seed_gives_other_cases() -> None:
    assert seen_inputs(seed=3, laws=("softmax.value",)) != seen_inputs(seed=4, laws=("softmax.value",))


def test_a_law_sees_the_same_cases_whichever_others_are_chosen() -> None:
    alone = seen_inputs(laws=("softmax.value",))
    beside = seen_inputs(laws=("softmax.value", "softmax.nonnegative"))
    assert all(one in beside for one in alone)


def test_the_same_seed_gives_the_same_report() -> None:
    def summary(report: Report) -> list[tuple[Any, ...]]:
        return [
            (
                r.law.id,
                r.status,
                r.cases,
                r.largest_excess,
                r.counterexample.case if r.counterexample else None,
            )
            for r in report.results
        ]

    once, again = (judged("softmax.*", seed=11, softmax=too_large) for _ in range(2))
    assert summary(once) == summary(again)


def test_progress_is_told_before_each_law() -> None:
    told = []
    check(SimpleNamespace(softmax=right_softmax), laws=("softmax.sh*",), tier="quick", progress=told.append)
    ranks = read_json("order.json")
    names = sorted(("softmax.shape", "softmax.shift"), key=ranks.index)
    assert [(step.law, step.done, step.total) for step in told] == [(names[0], 0, 2), (names[1], 1, 2)]


def test_one_name_may_be_given_by_itself() -> None:
    report = check(SimpleNamespace(softmax=right_softmax), operations="softmax", laws="softmax.shape", tier="quick")
    assert [one.law.id for one in report.results if one.status == "passed"] == ["softmax.shape"]
