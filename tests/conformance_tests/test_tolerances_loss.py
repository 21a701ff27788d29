"""The bound of cross entropy accuses no correct program, in any order of steps and any precision, and sees mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.operations.loss.cases import LossCase
from veriformer.conformance_tests.operations.loss.inputs import CrossEntropyInputs

DTYPES = ("float16", "bfloat16", "float32", "float64")
STANDARD = standard_conventions()
Tensor = torch.Tensor


def drawn(dtype: str) -> Iterator[CrossEntropyInputs]:
    generator = np.random.default_rng(5)
    for number in range(120):
        palette = ("bits", "integers", "normal", "offset", "repeated")[number % 5]
        case = LossCase(
            batch=int(generator.integers(1, 4)),
            length=int(generator.integers(2, 8 if dtype == "float16" else 40)),
            # Torch sums over all classes and positions before it divides, and float16 ends at 65504.
            classes=int(generator.choice([2, 3, 8, 65] if dtype == "float16" else [2, 3, 8, 65, 300])),
            dtype=dtype,
            palette=palette,
            amplitude=int(generator.choice([1, 4, 8] if dtype == "float16" else [1, 4, 30])),
            ignore=("none", "outside", "inside")[number % 3],
            label_smoothing=(None, 0.1, 0.5)[number % 4 % 3],
            seed=number,
        )
        yield CrossEntropyInputs.draw("cross_entropy", case)


def prepared(inputs: CrossEntropyInputs) -> tuple[Tensor, Tensor, float]:
    """Return kept logits (n, N) in the dtype, smoothed one-hot rows alike, and ε."""
    dtype = getattr(torch, inputs.dtype)
    share = inputs.label_smoothing or 0.0
    one_hot = np.arange(inputs.classes) == inputs.targets[inputs.kept][:, None]
    rows = torch.tensor(one_hot * (1.0 - share) + share / inputs.classes).to(dtype)
    return torch.tensor(inputs.logits[inputs.kept]).to(dtype), rows, share


def log_softmax_rows(logits: Tensor, rows: Tensor, share: float) -> Tensor:
    return -(rows * torch.log_softmax(logits, -1)).sum(-1).mean()


def every_step_stored(logits: Tensor, rows: Tensor, share: float) -> Tensor:
    shifted = logits - logits.amax(-1, keepdim=True)
    log_weights = shifted - shifted.exp().sum(-1, keepdim=True).log()
    return -(rows * log_weights).sum(-1).sum() / torch.tensor(len(rows)).to(logits.dtype)


def normaliser_minus_average(logits: Tensor, rows: Tensor, share: float) -> Tensor:
    return (torch.logsumexp(logits, -1) - (rows * logits).sum(-1)).mean()


def mixture(logits: Tensor, rows: Tensor, share: float) -> Tensor:
    log_weights = torch.log_softmax(logits, -1)
    chosen = log_weights.gather(-1, rows.argmax(-1, keepdim=True))[:, 0]
    return (1.0 - share) * -chosen.mean() + share * -log_weights.mean(-1).mean()


def accumulated_one_by_one(logits: Tensor, rows: Tensor, share: float) -> Tensor:
    losses = -(rows * torch.log_softmax(logits, -1)).sum(-1)
    total = torch.zeros((), dtype=logits.dtype)
    for loss in losses:
        total = total + loss
    return total / len(losses)


def torch_itself(inputs: CrossEntropyInputs) -> Tensor:
    return torch.nn.functional.cross_entropy(
        torch.tensor(inputs.logits).to(getattr(torch, inputs.dtype)).flatten(0, 1),
        torch.tensor(inputs.targets).flatten(),
        ignore_index=-100 if inputs.ignore_index is None else inputs.ignore_index,
        label_smoothing=inputs.label_smoothing or 0.0,
    )


PROGRAMS: tuple[Callable[[Tensor, Tensor, float], Tensor], ...] = (
    log_softmax_rows,
    every_step_stored,
    normaliser_minus_average,
    mixture,
    accumulated_one_by_one,
)


@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_sum_is_accused_and_no_loss_alone(dtype: str, reduction: Literal["sum", "none"]) -> None:
    largest = 0.0
    for drawn_inputs in drawn(dtype):
        inputs = replace(drawn_inputs, reduction=reduction)
        logits, targets, kept = torch.tensor(inputs.logits), torch.tensor(inputs.targets), torch.tensor(inputs.kept)
        losses = torch.nn.functional.cross_entropy(
            logits.to(getattr(torch, dtype)).transpose(1, 2),
            torch.where(kept, targets, -100),
            label_smoothing=inputs.label_smoothing or 0.0,
            reduction="none",
        )
        output = losses if reduction == "none" else accumulated(losses[kept])
        expected = inputs.expected(STANDARD)
        assert expected.value.shape == output.shape == inputs.result_shape
        error = np.abs(output.double().numpy() - expected.value)
        assert (error <= expected.allowed).all()
        largest = max(largest, float(np.max(error / np.maximum(expected.allowed, 1e-300))))
    assert largest > (0.1 if dtype in ("bfloat16", "float32") else 0.01)


def accumulated(losses: Tensor) -> Tensor:
    total = torch.zeros((), dtype=losses.dtype)
    for loss in losses:
        total = total + loss
    return total


def excess(inputs: CrossEntropyInputs, output: Tensor) -> float:
    expected = inputs.expected(STANDARD)
    return float(abs(output.double().item() - expected.value) / expected.allowed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_program_is_accused(dtype: str) -> None:
    for inputs in drawn(dtype):
        assert excess(inputs, torch_itself(inputs)) <= 1.0
        for program in PROGRAMS:
            assert excess(inputs, program(*prepared(inputs))) <= 1.0, f"{program.__name__}: {inputs}"


def test_what_is_allowed_is_less_than_ten_times_what_happens() -> None:
    """Roundings of many positions mostly cancel, and the bound is for when they do not."""
    reached = [excess(inputs, program(*prepared(inputs))) for inputs in drawn("bfloat16") for program in PROGRAMS]
    assert max(reached) > 0.1


@pytest.mark.parametrize(("dtype", "relative"), [("float32", 1e-4), ("float64", 1e-12)])
def test_a_loss_that_is_slightly_off_is_detected(dtype: str, relative: float) -> None:
    for inputs in drawn(dtype):
        expected = inputs.expected(STANDARD)
        if expected.value > 1.0 and np.abs(inputs.logits).max() < 30:
            assert expected.allowed < relative * expected.value


def test_float32_inside_is_detected_in_float64() -> None:
    found = [excess(inputs, torch_itself(inputs).float().double()) > 1.0 for inputs in drawn("float64")]
    assert np.mean(found) > 0.9


def test_one_target_in_a_hundred_that_counts_too_much_is_detected_in_float32() -> None:
    for inputs in drawn("float32"):
        expected = inputs.expected(STANDARD)
        if expected.value > 0.1:
            assert expected.allowed < expected.value / 100


def test_a_second_softmax_is_detected_in_bfloat16() -> None:
    found = []
    for inputs in drawn("bfloat16"):
        logits, rows, share = prepared(inputs)
        if np.ptp(inputs.logits) > 8:
            found.append(excess(inputs, log_softmax_rows(logits.softmax(-1), rows, share)) > 1.0)
    assert np.mean(found) > 0.8
