"""The bound of the gradient of cross entropy: no correct program exceeds it, and small defects do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.operations.loss.cases import LossCase
from veriformer.conformance_tests.operations.loss_backward.inputs import CrossEntropyBackwardInputs

DTYPES = ("float16", "bfloat16", "float32", "float64")
STANDARD = standard_conventions()
Tensor = torch.Tensor
Loss = Callable[[Tensor, Tensor], Tensor]


def drawn(dtype: str, count: int = 60) -> Iterator[CrossEntropyBackwardInputs]:
    generator = np.random.default_rng(5)
    for number in range(count):
        case = LossCase(
            batch=int(generator.integers(1, 4)),
            length=int(generator.integers(2, 8 if dtype == "float16" else 20)),
            classes=int(generator.choice([2, 3, 8, 65] if dtype == "float16" else [2, 3, 8, 65, 300])),
            dtype=dtype,
            palette=("bits", "integers", "normal", "offset", "repeated")[number % 5],
            amplitude=int(generator.choice([1, 4, 8] if dtype == "float16" else [1, 4, 30])),
            ignore=("none", "outside", "inside")[number % 3],
            label_smoothing=(None, 0.1, 0.5)[number % 4 % 3],
            reduction=("mean", "sum", "none", None)[number % 4],
            seed=number,
        )
        yield CrossEntropyBackwardInputs.draw("cross_entropy_backward", case)


# Of logits (n, N) and smoothed targets (n, N): the losses (n,), each step rounded to the dtype.
def library(logits: Tensor, wanted: Tensor) -> Tensor:
    return -(wanted * torch.log_softmax(logits, -1)).sum(-1)


def every_step_stored(logits: Tensor, wanted: Tensor) -> Tensor:
    """Log-softmax step by step, without stopping the gradient of the maximum."""
    shifted = logits - logits.amax(-1, keepdim=True)
    return -(wanted * (shifted - shifted.exp().sum(-1, keepdim=True).log())).sum(-1)


def largest_by_index(logits: Tensor, wanted: Tensor) -> Tensor:
    shifted = logits - logits.max(-1, keepdim=True).values
    return (shifted.exp().sum(-1, keepdim=True).log() - shifted).mul(wanted).sum(-1)


def normaliser_kept(logits: Tensor, wanted: Tensor) -> Tensor:
    return torch.logsumexp(logits, -1) - (wanted * logits).sum(-1)


def logarithm_of_weights(logits: Tensor, wanted: Tensor) -> Tensor:
    return -(wanted * torch.softmax(logits, -1).clamp_min(torch.finfo(logits.dtype).tiny).log()).sum(-1)


def gathered(logits: Tensor, wanted: Tensor) -> Tensor:
    """The mixture of two losses, each with a gradient of its own, as libraries smooth labels."""
    share = wanted.min(-1, keepdim=True).values * logits.shape[-1]
    logarithms = torch.log_softmax(logits, -1)
    chosen = logarithms.gather(-1, wanted.argmax(-1, keepdim=True))
    return (-(1.0 - share) * chosen - share * logarithms.mean(-1, keepdim=True))[:, 0]


LOSSES: tuple[Loss, ...] = (library, every_step_stored, largest_by_index, normaliser_kept, gathered)


def differentiated(inputs: CrossEntropyBackwardInputs, loss: Loss) -> np.ndarray:
    """Return the gradients of a loss, of the shape of the logits."""
    dtype, kept, share = getattr(torch, inputs.dtype), inputs.kept, inputs.label_smoothing or 0.0
    one_hot = np.arange(inputs.classes) == inputs.targets[kept][:, None]
    wanted = torch.tensor(one_hot * (1.0 - share) + share / inputs.classes).to(dtype)
    logits = torch.tensor(inputs.logits[kept]).to(dtype).requires_grad_()
    losses = loss(logits, wanted)
    if inputs.reduction == "none":
        cotangent = torch.tensor(inputs.grad_output[kept]).to(dtype)
    else:
        losses = losses.sum() if inputs.reduction == "sum" else losses.sum() / len(losses)
        cotangent = torch.tensor(inputs.grad_output).to(dtype)
    (gradient,) = torch.autograd.grad(losses, logits, cotangent)
    result = np.zeros(inputs.logits.shape)
    result[kept] = gradient.double().numpy()
    return result


def excess(inputs: CrossEntropyBackwardInputs, output: np.ndarray) -> float:
    expected = inputs.expected(STANDARD)
    error = np.abs(output - expected.value)
    return float(np.max(np.where(error > 0, error / np.maximum(expected.allowed, 1e-300), 0.0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_no_correct_program_is_accused(loss: Loss, dtype: str) -> None:
    reached = [excess(inputs, differentiated(inputs, loss)) for inputs in drawn(dtype)]
    assert max(reached) <= 1.0
    assert max(reached) > 0.01


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_the_logarithm_of_weights_that_do_not_vanish_is_correct(dtype: str) -> None:
    few = [inputs for inputs in drawn(dtype) if np.ptp(inputs.logits) < 20.0]
    assert max(excess(inputs, differentiated(inputs, logarithm_of_weights)) for inputs in few) <= 1.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gradient_that_is_a_hundredth_off_is_detected(dtype: str) -> None:
    for inputs in drawn(dtype):
        value = inputs.expected(STANDARD).value
        if np.abs(value).max() > 0.0:
            assert excess(inputs, 1.01 * value) > 1.0
            assert excess(inputs, value + 0.01 * np.abs(value).max()) > 1.0


def test_a_gradient_that_is_a_sixth_off_is_detected_in_bfloat16() -> None:
    found = [excess(inputs, 1.17 * inputs.expected(STANDARD).value) > 1.0 for inputs in drawn("bfloat16")]
    assert np.mean(found) > 0.8


def test_float32_inside_is_detected_in_float64() -> None:
    rounded = [
        excess(inputs, differentiated(inputs, library).astype(np.float32).astype(float)) for inputs in drawn("float64")
    ]
    assert np.mean(np.array(rounded) > 1.0) > 0.8
