"""The bounds of the gradients of a lookup and of a rotation: no correct program exceeds them, small defects do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase
from veriformer.conformance_tests.operations.embedding_backward.inputs import EmbeddingBackwardInputs
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.rotary_backward.inputs import RotaryBackwardInputs

DTYPES = ("float16", "bfloat16", "float32", "float64")
STANDARD = standard_conventions()
Tensor = torch.Tensor


def tables(dtype: str) -> Iterator[EmbeddingBackwardInputs]:
    generator = np.random.default_rng(3)
    for number in range(60):
        sizes = [int(generator.choice(lengths)) for lengths in ((1, 3), (2, 9, 70), (1, 2, 7, 40), (1, 3, 16))]
        case = EmbeddingCase(*sizes, dtype, EVERY_PALETTE[number % 5], scaled=number % 2 == 0, seed=number)
        yield EmbeddingBackwardInputs.draw("token_embedding_backward", case)


def vectors(dtype: str) -> Iterator[RotaryBackwardInputs]:
    for number in range(40):
        case = RotaryCase(
            2, 2, 3, (2, 6, 16, 64)[number % 4], dtype, EVERY_PALETTE[number % 5], furthest=2000, seed=number
        )
        yield RotaryBackwardInputs.draw("rotary_embedding_backward", case)


def excess(inputs: Inputs, output: np.ndarray) -> float:
    expected = inputs.expected(STANDARD)
    error = np.abs(output - expected.value)
    return float(np.max(np.where(error > 0, error / np.maximum(expected.allowed, 1e-300), 0.0)))


def one_row_after_the_other(inputs: EmbeddingBackwardInputs) -> Tensor:
    dtype = getattr(torch, inputs.dtype)
    result = torch.zeros(inputs.table.shape, dtype=dtype)
    gradients = torch.tensor(inputs.grad_output).to(dtype).flatten(0, 1) * torch.tensor(inputs.factor, dtype=dtype)
    for token, gradient in zip(inputs.tokens.ravel(), gradients, strict=True):
        result[token] += gradient
    return result


def differentiated(inputs: EmbeddingBackwardInputs) -> Tensor:
    table = torch.tensor(inputs.table).to(getattr(torch, inputs.dtype)).requires_grad_()
    rows = torch.nn.functional.embedding(torch.tensor(inputs.tokens), table) * inputs.factor
    return torch.autograd.grad(rows, table, torch.tensor(inputs.grad_output).to(table.dtype))[0]


def one_hot_product(inputs: EmbeddingBackwardInputs) -> Tensor:
    dtype = getattr(torch, inputs.dtype)
    rows = torch.nn.functional.one_hot(torch.tensor(inputs.tokens).flatten(), inputs.vocabulary).to(dtype)
    return rows.T @ torch.tensor(inputs.grad_output).to(dtype).flatten(0, 1) * inputs.factor


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", [one_row_after_the_other, differentiated, one_hot_product])
def test_no_correct_lookup_is_accused(program: Callable[[EmbeddingBackwardInputs], Tensor], dtype: str) -> None:
    reached = [excess(inputs, program(inputs).double().numpy()) for inputs in tables(dtype)]
    # On some processors a product adds in the order of the reference, so that it has no error at all.
    least = 0.0 if program is one_hot_product else 0.01
    assert least <= max(reached) <= 1.0


def test_without_repetition_a_lookup_has_no_error() -> None:
    case = EmbeddingCase(1, 1, 3, 4, "bfloat16", "normal", seed=2)
    assert not EmbeddingBackwardInputs.draw("token_embedding_backward", case).expected(STANDARD).allowed.any()


@pytest.mark.parametrize(("dtype", "part"), [("float32", 0.001), ("float64", 1e-9), ("bfloat16", 0.1)])
def test_a_lookup_that_is_off_by_a_part_of_one_gradient_is_detected(dtype: str, part: float) -> None:
    for inputs in tables(dtype):
        expected = inputs.expected(STANDARD)
        if inputs.tokens.size < 4 and expected.value.any():
            assert excess(inputs, (1.0 + part) * expected.value) > 1.0


def turned_back(inputs: RotaryBackwardInputs) -> Tensor:
    """Differentiate a rotation of interleaved pairs, each step of which is rounded to the dtype."""
    dtype = getattr(torch, inputs.dtype)
    x = torch.tensor(inputs.x).to(dtype).requires_grad_()
    width = x.shape[-1]
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, width, 2, dtype=torch.float32) / width))
    angles = torch.tensor(inputs.positions, dtype=torch.float32)[:, None] * frequencies
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    first, second = x[..., ::2], x[..., 1::2]
    turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1).flatten(-2)
    return torch.autograd.grad(turned, x, torch.tensor(inputs.grad_output).to(dtype))[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_rotation_is_accused(dtype: str) -> None:
    reached = [excess(inputs, turned_back(inputs).double().numpy()) for inputs in vectors(dtype)]
    assert 0.02 < max(reached) <= 1.0


@pytest.mark.parametrize(("dtype", "part"), [("float32", 0.01), ("bfloat16", 0.05)])
def test_a_rotation_that_is_slightly_off_is_detected(dtype: str, part: float) -> None:
    for inputs in vectors(dtype):
        value = inputs.expected(STANDARD).value
        if value.any():
            assert excess(inputs, (1.0 + part) * value) > 1.0
