"""The bound of gradients of attention and its weights with a soft cap, bias, window and sinks, against PyTorch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention_backward.inputs import LogitsBackwardInputs
from veriformer.conformance_tests.operations.suites import suite_of

torch = pytest.importorskip("torch")

CONVENTIONS = standard_conventions()
DTYPES = ("float64", "float32", "bfloat16", "float16")
# How many query heads share a key/value head.
OPERATIONS = {
    "scaled_dot_product_attention_backward": 1,
    "grouped_query_attention_backward": 2,
    "attention_weights_backward": 1,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "soft cap": {"softcap": 0.5},
    "bias": {"bias": True},
    "window": {"window": (1, 1)},
    "sinks": {"sinks": True},
    "all": {"softcap": 2.0, "bias": True, "window": (2, 1), "sinks": True},
}
# As a column of logits, as a gate of the output, and as a term of the sum.
WAYS = ("column", "gated", "added")


def drawn(dtype: str, operation: str, **options: Any) -> list[LogitsBackwardInputs]:
    """Return inputs of every palette, at small and large logits."""
    found: list[Any] = []
    for seed, (palette, amplitude, width) in enumerate(product(EVERY_PALETTE, (1, 4), (1, 4))):
        sizes = (2, 4, 4 // OPERATIONS[operation], 6, 6, width, 3)
        case = AttentionCase(*sizes, dtype, palette, amplitude, seed=seed, **options)
        found.append(suite_of(operation).inputs.draw(operation, case))
    return found


def logits_of(inputs: LogitsBackwardInputs, query: Any, key: Any, slope: float) -> Any:
    """Return the capped, biased and masked logits; a slope other than one is a defect of the cap's derivative."""
    logits = query @ key.mT * query.shape[-1] ** -0.5
    if inputs.softcap:
        capped = inputs.softcap * torch.tanh(logits / inputs.softcap)
        logits = slope * capped + (1.0 - slope) * capped.detach()
    if inputs.bias is not None:
        logits = logits + torch.tensor(inputs.bias).to(logits.dtype)
    visible = torch.tensor(np.asarray(inputs.visible(CONVENTIONS)))
    return logits.masked_fill(~visible, -torch.inf)


def attended(inputs: LogitsBackwardInputs, logits: Any, value: Any, way: str) -> Any:
    if value is None:
        # The values with which the output is the weights: 1 · p is exact.
        value = torch.eye(logits.shape[-1], dtype=logits.dtype)
    if inputs.sinks is None:
        return logits.softmax(-1) @ value
    sinks = torch.tensor(inputs.sinks).to(logits.dtype)[:, None, None].expand(*logits.shape[:3], 1)
    if way == "column":
        return torch.cat([logits, sinks], -1).softmax(-1)[..., :-1] @ value
    if way == "gated":
        return (logits.softmax(-1) @ value) * torch.sigmoid(logits.logsumexp(-1, keepdim=True) - sinks)
    highest = torch.maximum(logits.amax(-1, keepdim=True), sinks)
    exponentials = (logits - highest).exp()
    return exponentials / (exponentials.sum(-1, keepdim=True) + (sinks - highest).exp()) @ value


def gradients(inputs: LogitsBackwardInputs, way: str, slope: float = 1.0) -> np.ndarray:
    """Return the gradients that PyTorch derives from a forward pass, each step of it in the dtype."""
    dtype = getattr(torch, inputs.dtype)
    given = [array for array in (inputs.query, inputs.key, inputs.value) if array is not None]
    leaves = [torch.tensor(array).to(dtype).requires_grad_() for array in given]
    query, *tables = leaves
    key, *values = [table.repeat_interleave(inputs.group_size, 1) for table in tables]
    output = attended(inputs, logits_of(inputs, query, key, slope), values[0] if values else None, way)
    found = torch.autograd.grad(output, leaves, torch.tensor(inputs.grad_output).to(dtype))
    return np.concatenate([part.double().numpy().ravel() for part in found])


def excess(found: np.ndarray, expected: Expected) -> float:
    return float((np.abs(found - expected.value) / expected.allowed)[expected.judged].max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", OPTIONS)
def test_no_program_that_is_differentiated_exceeds_the_bound(name: str, operation: str, dtype: str) -> None:
    for inputs in drawn(dtype, operation, **OPTIONS[name]):
        expected = inputs.expected(CONVENTIONS)
        for way in WAYS if inputs.sinks is not None else WAYS[:1]:
            found = gradients(inputs, way)
            assert np.isfinite(found).all()
            assert excess(found, expected) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_wrong_slope_of_the_cap_exceeds_it(operation: str, dtype: str) -> None:
    inputs = drawn(dtype, operation, softcap=2.0)
    # By a tenth; in bfloat16, which has two digits, by a half.
    slope = 0.5 if dtype == "bfloat16" else 0.9
    assert max(excess(gradients(one, "column", slope), one.expected(CONVENTIONS)) for one in inputs) > 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_sink_that_is_left_out_exceeds_it(operation: str, dtype: str) -> None:
    inputs = drawn(dtype, operation, sinks=True)
    without = [replace(one, sinks=None) for one in inputs]
    found = [excess(gradients(w, "column"), one.expected(CONVENTIONS)) for w, one in zip(without, inputs, strict=True)]
    assert max(found) > 1.0
