"""A convention that no probe tells is unknown: laws judge under every value that stands, and tell it themselves.

Each program obeys one value of one convention, and refuses the very questions by which conventions are found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Report, check, compare_implementations, identify
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.reports.findings import conventions_found
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray
PLAIN = "scaled_dot_product_attention"
# Laws that depend on the conventions of attention, and some that do not.
TELLING = ("*.mask.*", "*.causal.*", "*.window*", "*.scale", "*.shape", "*.value", "*.gain", "rotary.*", "sinusoid*")


def contents(value: Any) -> bytes:
    """Return what tells one argument from another: the bytes of arrays, the words of the rest."""
    if isinstance(value, np.ndarray):
        return value.tobytes() + repr(value.shape).encode()
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return b"".join(map(contents, vars(value).values()))
    return b"".join(map(contents, value)) if isinstance(value, list | tuple) else repr(value).encode()


def refusing_questions(target: SimpleNamespace) -> SimpleNamespace:
    """Return the same program, which raises on every call that finding its conventions takes."""
    asked: set[bytes] = set()
    chosen = {name: value for name, value in vars(target).items() if name in OPERATIONS}
    rest = {name: value for name, value in vars(target).items() if name not in OPERATIONS}

    def program(*, notes: bool, refuses: bool) -> SimpleNamespace:
        def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(function)
            def call(*arguments: Any, **keywords: Any) -> Any:
                key = contents([*arguments, *keywords.items()])
                if notes:
                    asked.add(key)
                if refuses and key in asked:
                    raise RuntimeError("not these numbers")
                return function(*arguments, **keywords)

            return call

        return SimpleNamespace(**rest, **{name: wrapped(function) for name, function in chosen.items()})

    # What is asked depends on whether the questions before were answered.
    for refuses in (False, True):
        implementation = load(program(notes=True, refuses=refuses))
        for name in chosen:
            examine(implementation, OPERATIONS[name])
    return program(notes=False, refuses=True)


def attention(**chosen: Any) -> SimpleNamespace:
    """Return attention that differs from the standard by the reference's own keywords."""

    def scaled_dot_product_attention(
        query: Array, key: Array, value: Array, *, mask: Any = None, is_causal: bool = False, window: Any = None
    ) -> Array:
        result = reference.scaled_dot_product_attention(
            query, key, value, mask=mask, is_causal=is_causal, window=window, **chosen
        )
        return result.astype(query.dtype)

    return SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)


def blhd(query: Array, key: Array, value: Array) -> Array:
    swapped = (array.swapaxes(1, 2) for array in (query, key, value))
    return reference.scaled_dot_product_attention(*swapped).astype(query.dtype).swapaxes(1, 2)


def poisoned(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
    """Attention through which a NaN behind the mask passes."""
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    if mask is not None:
        logits = logits + np.where(mask, 0, np.finfo(query.dtype).min).astype(query.dtype)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ value


def gelu_of(form: Any) -> SimpleNamespace:
    return SimpleNamespace(gelu=lambda x: reference.gelu(x, form).astype(x.dtype))


def rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * (1 + gamma)).astype(x.dtype)


def half(x: Array, positions: Array) -> Array:
    return reference.rotary_embedding(x, positions, pairing="half").astype(x.dtype)


def concatenated(length: int, d_model: int) -> Array:
    return reference.sinusoidal_positions(length, d_model, layout="concatenated").astype(np.float32)


UNTOLD = (
    (PLAIN, "causal_alignment", "top_left", attention()),
    (PLAIN, "causal_alignment", "bottom_right", attention(causal_alignment="bottom_right")),
    (PLAIN, "empty_row", "zeros", attention()),
    (PLAIN, "empty_row", "nan", attention(empty_row="nan")),
    (PLAIN, "empty_row", "mean_of_values", attention(empty_row="mean_of_values")),
    (PLAIN, "window_counting", "exclusive", attention(window_counting="exclusive")),
    (PLAIN, "layout", "blhd", SimpleNamespace(scaled_dot_product_attention=blhd)),
    (PLAIN, "masked_nonfinite", "propagates", SimpleNamespace(scaled_dot_product_attention=poisoned)),
    ("gelu", "gelu_form", "erf", gelu_of("erf")),
    ("gelu", "gelu_form", "tanh", gelu_of("tanh")),
    ("gelu", "gelu_form", "sigmoid", gelu_of("sigmoid")),
    ("rms_norm", "rms_norm_gain", "one_plus_gamma", SimpleNamespace(rms_norm=rms_norm)),
    ("rotary_embedding", "rotary_pairing", "half", SimpleNamespace(rotary_embedding=half)),
    ("sinusoidal_positions", "sinusoidal_layout", "concatenated", SimpleNamespace(sinusoidal_positions=concatenated)),
)
CASES = pytest.mark.parametrize(
    ("operation", "convention", "value", "target"), UNTOLD, ids=[f"{o} {c} {v}" for o, c, v, _ in UNTOLD]
)


def failures(report: Report) -> set[str]:
    return {result.law.id for result in report.results if result.status in ("failed", "error")}


def finding(report: Report, operation: str, convention: str) -> Any:
    (found,) = (one for one in report.findings if (one.operation, one.convention) == (operation, convention))
    return found


@CASES
def test_what_one_value_that_stands_explains_is_no_violation(
    operation: str, convention: str, value: str, target: SimpleNamespace
) -> None:
    spoilt = refusing_questions(target)
    (before,) = (one for one in examine(load(spoilt), OPERATIONS[operation]).findings if one.convention == convention)
    assert before.unknown
    assert value in before.standing
    report = check(spoilt, tier="quick", laws=TELLING)
    assert report.verdict == "conforms", failures(report)
    after = finding(report, operation, convention)
    assert after.value == value or value in after.standing


def test_two_conventions_that_nothing_tells_are_told_together() -> None:
    target = refusing_questions(attention(causal_alignment="bottom_right", empty_row="mean_of_values"))
    report = check(target, tier="quick", laws=TELLING)
    assert report.verdict == "conforms", failures(report)
    assert finding(report, PLAIN, "causal_alignment").value == "bottom_right"
    assert finding(report, PLAIN, "empty_row").value == "mean_of_values"


def test_what_no_value_explains_is_a_violation() -> None:
    """GELU without the factor of its tail fits no form, and a law of every value fails."""
    wrong = SimpleNamespace(gelu=lambda x: (0.98 * reference.gelu(x, "tanh")).astype(x.dtype))
    report = check(refusing_questions(wrong), tier="quick")
    assert report.verdict == "violates"
    assert "gelu.value" in failures(report)
    assert finding(report, "gelu", "gelu_form").standing == ("erf", "tanh", "sigmoid")


def changing_its_mind(x: Array) -> Array:
    """Follow one form for short inputs and another for long ones: each call is explained, and no value explains all."""
    return reference.gelu(x, "tanh" if x.size % 2 else "erf").astype(x.dtype)


def test_one_value_has_to_explain_every_call() -> None:
    report = check(refusing_questions(SimpleNamespace(gelu=changing_its_mind)), tier="quick")
    assert report.verdict == "violates"


def test_where_a_value_explains_some_of_it_the_rest_is_a_violation() -> None:
    """Bottom right explains the laws of the causal flag; without the flag the values are wrong, whatever it shows."""

    def wrong(query: Array, key: Array, value: Array, *, is_causal: bool = False) -> Array:
        right = reference.scaled_dot_product_attention(
            query, key, value, is_causal=is_causal, causal_alignment="bottom_right"
        )
        return (right + (0.0 if is_causal else 0.1)).astype(query.dtype)

    target = refusing_questions(SimpleNamespace(scaled_dot_product_attention=wrong))
    report = check(target, tier="quick", laws=TELLING, diagnosis=False)
    assert "attention.scale" in failures(report)
    assert "attention.causal.unequal_lengths" not in failures(report)
    found = finding(report, PLAIN, "causal_alignment")
    assert (found.value, found.how, found.unknown) == ("bottom_right", "inferred", False)


def nonfinite_is_broken(program: Callable[..., Array]) -> bool:
    report = check(
        SimpleNamespace(scaled_dot_product_attention=program), tier="quick", laws=TELLING, diagnosis=False, shrink=False
    )
    assert report.verdict == "violates"
    assert finding(report, PLAIN, "masked_nonfinite").value != "ignored"
    return "attention.mask.nonfinite_behind_mask" in failures(report)


def test_a_convention_is_told_by_its_own_law_beside_much_else_that_is_refused() -> None:
    """A mask that is read as a square one is refused for unequal lengths, and the question has such."""

    def square(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        if mask is not None:
            shape = (*query.shape[:2], query.shape[2], key.shape[2])
            mask = np.broadcast_to(mask, shape).reshape(*query.shape[:3], query.shape[2])
        return poisoned(query, key, value, mask=mask)

    assert not nonfinite_is_broken(square)


def test_a_convention_is_told_by_its_own_law_beside_much_else_that_is_wrong() -> None:
    """Of few keys none is read, so that no question tells what passes; of many some are."""

    def whole_blocks(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        kept = key.shape[2] // 8 * 8
        if not kept:
            return np.zeros((*query.shape[:3], value.shape[-1]), query.dtype)
        mask = None if mask is None else np.broadcast_to(mask, (*query.shape[:3], key.shape[2]))[..., :kept]
        return poisoned(query, key[:, :, :kept], value[:, :, :kept], mask=mask)

    assert not nonfinite_is_broken(whole_blocks)


def test_the_first_violation_ends_a_run_only_where_no_value_explains_it() -> None:
    right = check(refusing_questions(gelu_of("tanh")), tier="quick", fail_fast=True)
    assert right.verdict == "conforms"
    wrong = check(refusing_questions(SimpleNamespace(gelu=changing_its_mind)), tier="quick", fail_fast=True)
    assert wrong.verdict == "violates"
    assert len(wrong.results) < len(right.results)


def test_what_is_unknown_stands_in_the_report_and_in_json() -> None:
    def attention_that_fails_at_masks(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        if mask is not None:
            raise RuntimeError("no masks today")
        return reference.scaled_dot_product_attention(query, key, value).astype(query.dtype)

    report = check(
        SimpleNamespace(scaled_dot_product_attention=attention_that_fails_at_masks),
        tier="quick",
        laws=("attention.scale", "attention.shape"),
    )
    assert report.verdict == "violates"
    told, verbose = (
        " ".join("".join(line.plain for line in conventions_found(report, Options(verbose=more))).split())
        for more in (False, True)
    )
    assert "2 unknown (empty_row, masked_nonfinite), 8 as usual (--verbose)" in told
    assert "unknown, zeros or nan or mean_of_values; laws took" in verbose
    assert verbose.count("unknown, ") == 2
    unknown = {one["convention"]: one for one in report_as_json(report)["unknown_conventions"]}
    assert set(unknown) == {"empty_row", "masked_nonfinite"}
    assert unknown["empty_row"] == {
        "operation": PLAIN,
        "convention": "empty_row",
        "value": "zeros",
        "fits": ["zeros", "nan", "mean_of_values"],
    }


REFUSING_A_SHAPE = """
import math
import numpy as np

def gelu(x):
    if x.shape == (2, 3, 6):
        raise ValueError("this shape is refused")
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return (x * (1 + np.tanh(inner)) / 2).astype(x.dtype)
"""


@pytest.mark.parametrize("workers", (0, 2))
def test_workers_and_a_resumed_run_tell_the_same(workers: int, tmp_path: Path) -> None:
    """The question has this shape; no case of these laws has it at this seed."""
    file = tmp_path / "refusing.py"
    file.write_text(REFUSING_A_SHAPE)
    laws = ("gelu.value", "gelu.shape", "gelu.dtype")
    record = tmp_path / "record.jsonl"
    whole = check(str(file), laws=laws, tier="quick", diagnosis=False)
    assert whole.verdict == "conforms", failures(whole)
    assert finding(whole, "gelu", "gelu_form").value == "tanh"
    first, again = (
        check(str(file), laws=laws, tier="quick", diagnosis=False, workers=workers, resume=record) for _ in range(2)
    )
    for report in (first, again):
        assert [result.status for result in report.results] == [result.status for result in whole.results]
        assert report.findings == whole.findings


def test_two_implementations_part_by_a_convention_that_no_question_told() -> None:
    spoilt = refusing_questions(gelu_of("tanh"))
    same = compare_implementations(spoilt, gelu_of("tanh"), tier="quick")
    assert same.verdict == "agree"
    (operation,) = compare_implementations(spoilt, gelu_of("erf"), tier="quick").operations
    assert [(cause.side, cause.conventions) for cause in operation.causes] == [("both", ("gelu_form",))]


def test_what_no_call_tells_is_no_difference_of_conventions() -> None:
    def without_an_answer_to_masks(query: Array, key: Array, value: Array, *, mask: Any = None) -> Array:
        if mask is not None:
            raise RuntimeError("no masks today")
        return reference.scaled_dot_product_attention(query, key, value).astype(query.dtype)

    first = SimpleNamespace(scaled_dot_product_attention=without_an_answer_to_masks)
    (operation,) = compare_implementations(first, attention(empty_row="nan"), tier="quick").operations
    assert not next(pair for pair in operation.conventions if pair.name == "empty_row").differ


@pytest.mark.parametrize("form", ("erf", "tanh", "sigmoid"))
def test_identify_lets_ordinary_calls_tell_what_no_question_told(form: str) -> None:
    (item,) = identify(refusing_questions(gelu_of(form))).conventions
    assert (item.value, item.how, item.told, item.fits) == (form, "inferred", "told", (form,))
    assert "calls on drawn cases" in item.evidence[-1].asked


def test_identify_tells_nothing_by_calls_that_are_wrong_under_every_value() -> None:
    (item,) = identify(SimpleNamespace(gelu=lambda x: x + 1)).conventions
    assert (item.value, item.how, item.told, item.fits) == ("erf", "standard", "untold", ())
