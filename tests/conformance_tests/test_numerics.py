"""Eager and fused numerics are told apart by rows that show what was rounded, and neither accuses the other's programs.

The programs are written in torch for these tests: float64 arrays in which one quantity is rounded to the dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check, identify
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.conventions.questions.precision import OF, numerics_questions
from veriformer.conformance_tests.conventions.questions.rounding_rows import QUANTITIES, telling_rows
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.rounding.precision import Precision
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray
PLAIN, BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
EAGER = (
    "scaled queries",
    "halves of the scale",
    "products",
    "logits",
    "differences",
    "exponentials",
    "sums",
    "sums of unnormalised weights",
)
FUSED = ("weights", "unnormalised weights", "unnormalised weights that are summed", "result")


def program(rounded: tuple[str, ...], dtype: str) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return attention on float64 tensors that rounds what is named, and its result."""

    def to(amounts: torch.Tensor, *names: str) -> torch.Tensor:
        return amounts.to(getattr(torch, dtype)).double() if set(names) & set(rounded) else amounts

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        scale = query.shape[-1] ** -0.5
        if "halves of the scale" in rounded:
            query, key = (to(array * scale**0.5, "halves of the scale") for array in (query, key))
            scale = 1.0
        if "scaled queries" in rounded:
            query, scale = to(query * scale, "scaled queries"), 1.0
        logits = to(to(query @ key.mT, "products") * scale, "logits")
        exponentials = to(torch.exp(to(logits - logits.amax(-1, keepdim=True), "differences")), "exponentials")
        after = {name for name in rounded if "unnormalised" in name}
        stored = to(exponentials, *after)
        summed = stored if "unnormalised weights that are summed" in rounded else exponentials
        total = to(summed.sum(-1, keepdim=True), "sums", "sums of unnormalised weights")
        result = stored @ value / total if after else to(exponentials / total, "weights") @ value
        return result.to(getattr(torch, dtype)).double()

    return attention


def answer(inputs: AttentionInputs, rounded: tuple[str, ...]) -> Array:
    arrays = (torch.from_numpy(array) for array in (inputs.query, inputs.key, inputs.value))
    return program(rounded, inputs.dtype)(*arrays).numpy()


def plain_questions(dtype: str, seed: int) -> list[AttentionInputs]:
    questions = list(numerics_questions(PLAIN, (dtype,), (), seed=seed))
    assert questions
    return questions


def allowed(inputs: AttentionInputs) -> tuple[Expected, Expected]:
    """Return what is expected of eager programs, and of fused ones."""
    conventions = standard_conventions()
    eager, fused = (inputs.expected({**conventions, "numerics": value}) for value in ("eager", "fused"))
    return eager, fused


def within(expected: Expected, output: Array) -> bool:
    return compare(expected.value, output, expected.allowed, expected.judged).holds


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_eager_programs_are_never_taken_for_fused_ones(dtype: str) -> None:
    everything = tuple(name for name in EAGER if "halves" not in name and "unnormalised" not in name)
    programs = (*[(name, "weights") for name in EAGER], (*everything, "weights"), ("logits",), ("scaled queries",))
    for seed in range(25):
        questions = [(inputs, *allowed(inputs)) for inputs in plain_questions(dtype, seed)]
        for one in programs:
            answers = [(answer(inputs, one), eager, fused) for inputs, eager, fused in questions]
            assert all(within(eager, output) for output, eager, _ in answers), (seed, one)
            assert not all(within(fused, output) for output, _, fused in answers), (seed, one)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_fused_programs_are_never_taken_for_eager_ones(dtype: str) -> None:
    for seed in range(5):
        for inputs in plain_questions(dtype, seed):
            _, fused = allowed(inputs)
            assert all(within(fused, answer(inputs, (one,))) for one in FUSED), seed


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("operation", OF)
def test_every_quantity_has_rows_of_both_signs(operation: str, dtype: str) -> None:
    rows = telling_rows(dtype, OF[operation])
    assert tuple(rows) == QUANTITIES[OF[operation]]
    # Underflow hides rounded differences from gradients of float16.
    hidden = {"differences"} if (dtype, OF[operation]) == ("float16", "gradients") else set()
    assert {quantity for quantity, found in rows.items() if len(found.key) < 4} == hidden


def rounding_its_logits(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    arrays = (array.double() for array in (query, key, value))
    return program(("logits", "weights"), "bfloat16")(*arrays).to(query.dtype)


def rounding(**declared: object) -> SimpleNamespace:
    functions = {PLAIN: rounding_its_logits, BACKWARD: None}
    return SimpleNamespace(framework="torch", dtypes=("bfloat16",), **functions, **declared)


def test_rounded_logits_are_found_where_fused_numerics_are_declared() -> None:
    laws = ("attention.scale", "attention.large_logits", "attention.scale.faint_key")
    report = check(rounding(conventions={"numerics": "fused"}), laws=laws, diagnosis=False)
    assert [result.status for result in report.results] == ["failed"] * 3
    assert all(result.counterexample and result.counterexample.eager_allows for result in report.results)


def test_rounded_logits_are_allowed_where_nothing_is_declared() -> None:
    report = check(rounding(), operations=(PLAIN,), tier="quick", diagnosis=False)
    assert {result.status for result in report.results} <= {"passed", "not_declared"}


def test_a_mistake_is_not_excused_as_eager() -> None:
    def unscaled(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)

    wrong = SimpleNamespace(
        framework="torch",
        dtypes=("bfloat16",),
        conventions={"numerics": "fused"},
        scaled_dot_product_attention=unscaled,
    )
    (result,) = check(wrong, laws=("attention.scale",), diagnosis=False).results
    assert result.status == "failed"
    assert result.counterexample is not None
    assert not result.counterexample.eager_allows


def found(target: object, operation: str) -> tuple[str, str]:
    profile = examine(load(target), OPERATIONS[operation])
    (finding,) = (finding for finding in profile.findings if finding.convention == "numerics")
    return finding.value, finding.how


@pytest.mark.parametrize("implementation", ["torch", "torch-math", "torch-flash"])
@pytest.mark.parametrize("operation", [PLAIN, "grouped_query_attention", BACKWARD])
def test_torch_is_fused(implementation: str, operation: str) -> None:
    assert found(implementation, operation) == ("fused", "inferred")


def test_torch_multi_head_attention_and_softmax_are_fused() -> None:
    assert found("torch", "multi_head_attention") == found("torch", "softmax") == ("fused", "inferred")


@pytest.mark.parametrize("name", ["torch_head_by_head", "torch_split_scale", "numpy_log_sum_exp"])
def test_examples_step_by_step_are_eager(name: str) -> None:
    assert found(f"docs/examples/correct/{name}.py", PLAIN) == ("eager", "inferred")


def test_without_a_dtype_of_16_bits_the_numerics_stay_eager() -> None:
    assert found(attention_of("torch", ("float32", "float64")), PLAIN) == ("eager", "standard")


def attention_of(name: str, dtypes: tuple[str, ...]) -> SimpleNamespace:
    implementation = load(name)
    function = implementation.operations[PLAIN]
    return SimpleNamespace(framework="torch", dtypes=dtypes, scaled_dot_product_attention=function)


def test_a_fused_program_that_declares_eager_contradicts_nothing() -> None:
    target = attention_of("torch", ("bfloat16",))
    target.conventions = {"numerics": "eager"}
    identification = identify(target, conventions=("numerics",))
    assert [item.told for item in identification.conventions] == ["told", "told"]
    assert identification.exit_status == 0


def test_the_evidence_says_what_eager_means() -> None:
    (item,) = identify(rounding(), conventions=("numerics",)).conventions
    assert (item.value, item.told) == ("eager", "told")
    assert "what is allowed, not what is known to be done" in item.evidence[0].came


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_32_and_64_bits_the_two_are_one(dtype: str) -> None:
    assert Precision.of(dtype, numerics="fused") == Precision.of(dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_fused_bounds_are_smaller_than_eager_ones(dtype: str) -> None:
    conventions = standard_conventions()
    for operation in OF:
        for inputs in numerics_questions(operation, (dtype,), ()):
            eager, fused = (inputs.expected({**conventions, "numerics": value}).allowed for value in ("eager", "fused"))
            assert (fused <= eager * 1.01 + lost_to_the_sum(dtype)).all(), operation
            assert fused.max() < eager.max(), operation


def lost_to_the_sum(dtype: str) -> float:
    # What underflows counts for the sum too, of up to 80 keys, in the bounds of fused numerics.
    return 100.0 * Precision.of(dtype).underflow
