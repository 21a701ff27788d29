"""The bounds of the gradients of a bias and of sinks, against PyTorch in four dtypes, sinks written in three ways."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.operations.additions_backward.inputs import BIAS, SINKS, AdditionInputs
from veriformer.conformance_tests.operations.attention.case import MASK_SHAPES, AttentionCase

torch = pytest.importorskip("torch")

CONVENTIONS = standard_conventions()
DTYPES = ("float64", "float32", "bfloat16", "float16")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "soft cap": {"softcap": 0.5},
    "window": {"window": (1, 1)},
    "both": {"bias": True, "sinks": True},
    "all": {"softcap": 2.0, "bias": True, "window": (2, 1), "sinks": True},
}
# As a column of logits, as a gate of the output, and as a term of the sum.
WAYS = ("column", "gated", "added")


def drawn(dtype: str, operation: str, **options: Any) -> list[AdditionInputs]:
    """Return inputs of every palette, at small and large logits, with biases of every shape."""
    found: list[AdditionInputs] = []
    for seed, (palette, amplitude, width) in enumerate(product(EVERY_PALETTE, (1, 4), (1, 4))):
        shape = MASK_SHAPES[seed % len(MASK_SHAPES)]
        case = AttentionCase(2, 4, 4, 6, 6, width, 3, dtype, palette, amplitude, bias_shape=shape, seed=seed, **options)
        found.append(AdditionInputs.draw(operation, case))
    return found


def gradient(inputs: AdditionInputs, way: str, factor: float = 1.0) -> np.ndarray:
    """Return the gradient that PyTorch derives from a forward pass, each step in the dtype; `factor` spoils it."""
    dtype = getattr(torch, inputs.dtype)
    query, key, value = (torch.tensor(array).to(dtype) for array in (inputs.query, inputs.key, inputs.value))
    bias, sinks = (
        None if array is None else torch.tensor(array).to(dtype).requires_grad_()
        for array in (inputs.bias, inputs.sinks)
    )
    logits = query @ key.mT * query.shape[-1] ** -0.5
    if inputs.softcap:
        logits = inputs.softcap * torch.tanh(logits / inputs.softcap)
    logits = logits if bias is None else logits + bias
    logits = logits.masked_fill(~torch.tensor(np.asarray(inputs.visible(CONVENTIONS))), -torch.inf)
    output = attended(logits, value, sinks, way)
    leaf = bias if inputs.operation == BIAS else sinks
    (found,) = torch.autograd.grad(output, leaf, torch.tensor(inputs.grad_output).to(dtype))
    return np.asarray((factor * found).double().numpy())


def attended(logits: Any, value: Any, sinks: Any, way: str) -> Any:
    if sinks is None:
        return logits.softmax(-1) @ value
    columns = sinks[:, None, None].expand(*logits.shape[:3], 1)
    if way == "column":
        return torch.cat([logits, columns], -1).softmax(-1)[..., :-1] @ value
    if way == "gated":
        return (logits.softmax(-1) @ value) * torch.sigmoid(logits.logsumexp(-1, keepdim=True) - columns)
    highest = torch.maximum(logits.amax(-1, keepdim=True), columns)
    exponentials = (logits - highest).exp()
    return exponentials / (exponentials.sum(-1, keepdim=True) + (columns - highest).exp()) @ value


def excess(found: np.ndarray, expected: Expected) -> float:
    return float((np.abs(found - expected.value) / expected.allowed)[expected.judged].max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", (BIAS, SINKS))
@pytest.mark.parametrize("name", OPTIONS)
def test_no_program_that_is_differentiated_exceeds_the_bound(name: str, operation: str, dtype: str) -> None:
    for inputs in drawn(dtype, operation, **OPTIONS[name]):
        expected = inputs.expected(CONVENTIONS)
        for way in WAYS if inputs.sinks is not None else WAYS[:1]:
            found = gradient(inputs, way)
            assert np.isfinite(found).all()
            assert excess(found, expected) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sink", (-6.0, -12.0))
def test_a_faint_sink_stays_inside_it_however_it_is_written(sink: float, dtype: str) -> None:
    for one in drawn(dtype, SINKS):
        inputs = replace(one, sinks=np.full(4, sink))
        for way in WAYS:
            assert excess(gradient(inputs, way), inputs.expected(CONVENTIONS)) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", (BIAS, SINKS))
def test_a_gradient_that_is_off_by_a_factor_exceeds_it(operation: str, dtype: str) -> None:
    factor = {"float64": 1.0 + 1e-13, "float32": 1.0 + 1e-4, "float16": 1.1, "bfloat16": 1.5}[dtype]
    found = [excess(gradient(one, "column", factor), one.expected(CONVENTIONS)) for one in drawn(dtype, operation)]
    assert max(found) > 1.0
