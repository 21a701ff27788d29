"""The bound of the gradients of merged attention, against correct programs that round in other places."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.operations.merging_backward.inputs import MergeBackwardInputs

torch = pytest.importorskip("torch")

DTYPES = ("float64", "float32", "bfloat16", "float16")
# Of two outputs and two log-sum-exps.
Merge = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def by_maximum(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    """The gradient of the maximum is not stopped, and the quotient stands behind the products."""
    highest = torch.maximum(lse_a, lse_b)
    weight_a, weight_b = (lse_a - highest).exp(), (lse_b - highest).exp()
    total = weight_a + weight_b
    summed = weight_a[..., None] * output_a + weight_b[..., None] * output_b
    return summed / total[..., None], highest + total.log()


def by_shares(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    highest = torch.maximum(lse_a, lse_b).detach()
    weight_a, weight_b = (lse_a - highest).exp(), (lse_b - highest).exp()
    total = weight_a + weight_b
    shares = weight_a / total, weight_b / total
    return shares[0][..., None] * output_a + shares[1][..., None] * output_b, highest + total.log()


def by_logarithm(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    lse = torch.logaddexp(lse_a, lse_b)
    return (lse_a - lse).exp()[..., None] * output_a + (lse_b - lse).exp()[..., None] * output_b, lse


def by_softmax(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    logits = torch.stack([lse_a, lse_b], -1)
    outputs = torch.stack([output_a, output_b], -2)
    return (logits.softmax(-1)[..., None, :] @ outputs)[..., 0, :], logits.logsumexp(-1)


def by_sigmoid(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    """As in ring attention."""
    share = torch.sigmoid(lse_b - lse_a)[..., None]
    return output_a - share * (output_a - output_b), lse_a - torch.nn.functional.logsigmoid(lse_a - lse_b)


def by_larger(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    """The logarithm is the larger one plus ln(1 + e^−d)."""
    lse = torch.maximum(lse_a, lse_b) + torch.nn.functional.softplus(-(lse_a - lse_b).abs())
    # The slope of |d| is 0 at d = 0, where the maximum gives each half of the gradient.
    return (lse_a - lse).exp()[..., None] * output_a + (lse_b - lse).exp()[..., None] * output_b, lse


def by_powers_of_two(output_a: Any, lse_a: Any, output_b: Any, lse_b: Any) -> tuple[Any, Any]:
    ratio = 1.4426950408889634
    highest = torch.maximum(lse_a, lse_b).detach()
    weight_a, weight_b = torch.exp2(ratio * (lse_a - highest)), torch.exp2(ratio * (lse_b - highest))
    total = weight_a + weight_b
    output = (weight_a / total)[..., None] * output_a + (weight_b / total)[..., None] * output_b
    return output, highest + torch.log2(total) / ratio


def drawn(dtype: str, empty: Any = "none") -> list[MergeBackwardInputs]:
    """Return inputs of every palette, at small and large logarithms and widths."""
    cases = product(EVERY_PALETTE, (1, 2, 10), (1, 5, 40))
    return [
        MergeBackwardInputs.draw(
            "merge_attention_backward", MergeCase(2, 2, 4, 5, width, dtype, palette, amplitude, empty, seed)
        )
        for seed, (palette, amplitude, width) in enumerate(cases)
    ]


def tensors(inputs: MergeBackwardInputs) -> list[Any]:
    dtype = getattr(torch, inputs.dtype)
    return [torch.tensor(array).to(dtype) for array in inputs.arguments().values()]


def joined(parts: Any) -> np.ndarray:
    return np.concatenate([part.double().numpy().ravel() for part in parts])


def differentiated(inputs: MergeBackwardInputs, merge: Merge) -> np.ndarray:
    """Return the gradients that PyTorch derives from a forward pass, each step of it in the dtype."""
    *leaves, grad_output, grad_lse = tensors(inputs)
    leaves = [leaf.requires_grad_() for leaf in leaves]
    return joined(torch.autograd.grad(merge(*leaves), leaves, (grad_output, grad_lse)))


def by_merged(inputs: MergeBackwardInputs, width_term: float = 1.0) -> np.ndarray:
    """Return the gradients by the distance from the merged output, each step stored; a factor is a defect."""
    output_a, lse_a, output_b, lse_b, grad_output, grad_lse = tensors(inputs)
    output, lse = by_logarithm(output_a, lse_a, output_b, lse_b)
    average = (grad_output * output).sum(-1)

    def of_part(one: Any, logarithm: Any) -> tuple[Any, Any]:
        weight = (logarithm - lse).exp()
        apart = (grad_output * one).sum(-1) - average
        return weight[..., None] * grad_output, weight * (width_term * apart + grad_lse)

    return joined((*of_part(output_a, lse_a), *of_part(output_b, lse_b)))


def excess(found: np.ndarray, inputs: MergeBackwardInputs) -> float:
    expected = inputs.expected(standard_conventions())
    return float((np.abs(found - expected.value) / expected.allowed).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "merge", (by_maximum, by_shares, by_logarithm, by_softmax, by_sigmoid, by_powers_of_two, by_larger)
)
def test_no_program_that_is_differentiated_exceeds_the_bound(merge: Merge, dtype: str) -> None:
    for inputs in drawn(dtype):
        assert excess(differentiated(inputs, merge), inputs) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_gradient_by_the_merged_output_exceeds_the_bound(dtype: str) -> None:
    assert max(excess(by_merged(inputs), inputs) for inputs in drawn(dtype)) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("merge", (by_maximum, by_shares, by_logarithm, by_softmax))
def test_one_empty_part_is_within_the_bound(merge: Merge, dtype: str) -> None:
    for inputs in drawn(dtype, "one"):
        assert excess(differentiated(inputs, merge), inputs) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_share_of_the_distance_exceeds_it(dtype: str) -> None:
    # By a tenth; in bfloat16, which has two digits, by a half.
    factor = 0.5 if dtype == "bfloat16" else 0.9
    assert max(excess(by_merged(inputs, factor), inputs) for inputs in drawn(dtype)) > 1.0
