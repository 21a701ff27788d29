"""Right gradients of norms, rounded at every step, stay inside their bounds; a small part of a defect does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import fill, round_to_dtype
from veriformer.conformance_tests.operations.normalisation_backward.inputs import (
    LayerNormBackwardInputs,
    NormBackwardInputs,
    RmsNormBackwardInputs,
)

torch = pytest.importorskip("torch")
Store = Callable[[Any], Any]
Program = Callable[[Any, Store, Store], tuple[Array, ...]]
DTYPES = ("float32", "float64", "bfloat16", "float16")
SHAPES = ((6, 5, 7), (2, 3, 1), (3, 2, 2), (2, 4, 65), (1, 2, 700), (30, 20, 3))
CONVENTIONS = standard_conventions()


def all_inputs(kind: Any, dtype: str, seed: int = 0) -> Iterator[Any]:
    generator = np.random.default_rng(seed)
    for palette, (amplitude, eps), shape in product(EVERY_PALETTE, ((0.01, 1e-5), (1, 0.1), (4, 1e-5)), SHAPES):

        def values(*sizes: int, amplitude: float = 1.0, palette: Any = palette) -> Array:
            return round_to_dtype(amplitude * fill(generator, sizes, palette), dtype)

        of_width = {"gamma": values(shape[-1], palette="normal"), "beta": values(shape[-1], palette="normal")}
        if kind is RmsNormBackwardInputs:
            del of_width["beta"]
        x, grad_output = values(*shape, amplitude=amplitude), values(*shape)
        yield kind(dtype=dtype, x=x, eps=eps, grad_output=grad_output, **of_width)


def storing(dtype: str) -> Store:
    if dtype in ("float32", "float64"):
        return lambda array: np.asarray(array).astype(dtype)
    return lambda array: round_to_dtype(np.asarray(array, dtype=np.float64), dtype).astype(np.float32)


def at_least_single(dtype: str) -> Store:
    return storing("float64" if dtype == "float64" else "float32")


def mean(array: Array) -> Array:
    return np.asarray(array.mean(axis=-1, keepdims=True))


def rows(array: Array) -> Array:
    return np.asarray(array.reshape(-1, array.shape[-1]).sum(axis=0))


def prepared(inputs: Any, store: Store, single: Store) -> tuple[Array, Array, Array, Array]:
    """Return x or x − μ, the inverse root, dO and dO γ, each stored."""
    x, gamma, grad_output = store(inputs.x), store(inputs.gamma), store(inputs.grad_output)
    centred = store(x - store(mean(x))) if isinstance(inputs, LayerNormBackwardInputs) else x
    square = store(mean(np.square(single(centred))))
    inverse = store(1 / single(np.sqrt(single(square + single(inputs.eps)))))
    return centred, inverse, grad_output, store(grad_output * gamma)


def gradients(inputs: Any, store: Store, grad_x: Array, normalised: Array, grad_output: Array) -> tuple[Array, ...]:
    found = (grad_x, store(rows(store(grad_output * normalised))))
    return (*found, store(rows(grad_output))) if isinstance(inputs, LayerNormBackwardInputs) else found


def fused(inputs: Any, store: Store, single: Store) -> tuple[Array, ...]:
    """Go from the normalised vector, all of it stored."""
    centred, inverse, grad_output, scaled = prepared(inputs, store, single)
    normalised = store(centred * inverse)
    removed = store(normalised * store(mean(store(scaled * normalised))))
    if isinstance(inputs, LayerNormBackwardInputs):
        removed = store(removed + store(mean(scaled)))
    return gradients(inputs, store, store(inverse * store(scaled - removed)), normalised, grad_output)


def step_by_step(inputs: Any, store: Store, single: Store) -> tuple[Array, ...]:
    """Differentiate quotient, root, mean of squares and mean one after the other; the inverse root's in float32."""
    centred, inverse, grad_output, scaled = prepared(inputs, store, single)
    of_inverse = store(store(scaled * centred).sum(axis=-1, keepdims=True))
    of_square = single(-0.5 * single(single(inverse) ** 3) * of_inverse)
    grad_centred = store(store(scaled * inverse) + store(single(2.0 * of_square * centred) / centred.shape[-1]))
    grad_x = grad_centred
    if isinstance(inputs, LayerNormBackwardInputs):
        grad_x = store(grad_centred - store(mean(grad_centred)))
    return gradients(inputs, store, grad_x, store(centred * inverse), grad_output)


def from_uncentred(inputs: Any, store: Store, single: Store) -> tuple[Array, ...]:
    """Sum products with x as it is, in float32, as PyTorch does on processors."""
    x, gamma, grad_output = single(inputs.x), single(inputs.gamma), single(inputs.grad_output)
    _, inverse, _, _ = prepared(inputs, single, single)
    shift = single(mean(x)) * isinstance(inputs, LayerNormBackwardInputs)
    scaled, width = single(grad_output * gamma), single(x.shape[-1])
    of_x = single(single(scaled * x).sum(axis=-1, keepdims=True))
    of_one = single(scaled.sum(axis=-1, keepdims=True))
    slope = single(single(single(of_one * shift) - of_x) * single(single(inverse**3) / width))
    level = single(-single(slope * shift))
    if isinstance(inputs, LayerNormBackwardInputs):
        level = single(level - single(of_one * single(inverse / width)))
    grad_x = store(single(single(inverse * scaled) + single(slope * x)) + level)
    normalised = single(single(x * inverse) - single(shift * inverse))
    return gradients(inputs, store, grad_x, normalised, grad_output)


def derived(inputs: Any, store: Store, single: Store) -> tuple[Array, ...]:
    """Let PyTorch differentiate the forward pass as it is written down, in the dtype of the inputs."""
    dtype = getattr(torch, inputs.dtype)
    names = ("x", "gamma", "beta") if isinstance(inputs, LayerNormBackwardInputs) else ("x", "gamma")
    leaves = [torch.tensor(getattr(inputs, name), dtype=dtype).requires_grad_() for name in names]
    x = leaves[0]
    work = torch.promote_types(dtype, torch.float32)
    centred = x - x.mean(dim=-1, keepdim=True) if len(names) == 3 else x
    inverse = torch.rsqrt(centred.to(work).square().mean(dim=-1, keepdim=True) + inputs.eps)
    output = (centred.to(work) * inverse).to(dtype) * leaves[1]
    output = output + leaves[2] if len(names) == 3 else output
    found = torch.autograd.grad(output, leaves, torch.tensor(inputs.grad_output, dtype=dtype))
    return tuple(gradient.double().numpy() for gradient in found)


KINDS = (LayerNormBackwardInputs, RmsNormBackwardInputs)
PROGRAMS: tuple[Program, ...] = (fused, step_by_step, from_uncentred, derived)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.operation)


def ratios(inputs: NormBackwardInputs, found: tuple[Array, ...]) -> Array:
    expected = inputs.expected(CONVENTIONS)
    received = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in found])
    assert np.isfinite(received).all()
    return np.asarray(np.abs(received - expected.value) / expected.allowed)


@each_kind
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_program_exceeds_the_bound(dtype: str, program: Program, kind: Any) -> None:
    store, single = storing(dtype), at_least_single(dtype)
    largest = max(float(ratios(inputs, program(inputs, store, single)).max()) for inputs in all_inputs(kind, dtype))
    assert largest < 1.0
    # A bound that nothing comes near would let mistakes through.
    assert largest > 0.02


@each_kind
@pytest.mark.parametrize(
    ("dtype", "defect"), (("float64", 1e-12), ("float32", 1e-4), ("float16", 0.1), ("bfloat16", 0.6))
)
def test_a_small_part_of_a_forgotten_projection_exceeds_the_bound(dtype: str, defect: float, kind: Any) -> None:
    inputs = next(given for given in all_inputs(kind, dtype, 3) if given.x.shape == (6, 5, 7) and given.x.std() > 0.5)
    expected, part = inputs.expected(CONVENTIONS), inputs.part("grad_x")
    divisor = np.sqrt(np.square(inputs.centred()).mean(axis=-1, keepdims=True) + inputs.eps)
    missing = inputs.scaled(CONVENTIONS) / divisor - part(expected.value)
    assert (defect * np.abs(missing) > 2.0 * part(expected.allowed)).any()


@each_kind
@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_are_finite_and_positive(dtype: str, kind: Any) -> None:
    for inputs in all_inputs(kind, dtype, 1):
        for placement in ("inside_root", "outside_root"):
            expected = inputs.expected({**CONVENTIONS, "layer_norm_eps": placement})
            assert np.isfinite(expected.allowed[expected.judged]).all()
            assert (expected.allowed > 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_eps_outside_the_root_is_within_the_bound(dtype: str) -> None:
    """Small deviations, of which rounding leaves few digits, and vectors of equal components, which are not judged."""
    store, single = storing(dtype), at_least_single(dtype)
    conventions = {**CONVENTIONS, "layer_norm_eps": "outside_root"}
    for inputs in all_inputs(LayerNormBackwardInputs, dtype):
        inputs = replace(inputs, x=round_to_dtype(inputs.x + 1.0, dtype))
        x, scaled = store(inputs.x), store(store(inputs.grad_output) * store(inputs.gamma))
        centred = store(x - store(mean(x)))
        deviation = store(np.sqrt(store(mean(np.square(single(centred))))))
        divisor = store(deviation + single(inputs.eps))
        normalised = store(centred / divisor)
        direction = store(centred / np.where(deviation == 0.0, single(1.0), deviation))
        removed = store(store(mean(scaled)) + store(direction * store(mean(store(scaled * normalised)))))
        found = gradients(
            inputs, store, store(store(scaled - removed) / divisor), normalised, store(inputs.grad_output)
        )
        expected = inputs.expected(conventions)
        received = np.concatenate([part.ravel() for part in found]).astype(np.float64)
        error = np.abs(received - expected.value)[expected.judged]
        assert (error < expected.allowed[expected.judged]).all()
