"""The error bounds of norms, activations and feed-forward networks: correct programs keep within, defects do not.

The correct programs are written here in the orders of operations that libraries use; every intermediate result is
rounded to the dtype, and products accumulate in float32, as eager code on 16 bits does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase
from veriformer.conformance_tests.operations.inputs import draw_inputs

Array = np.ndarray
Tensor = torch.Tensor
DTYPES = ("float32", "float64", "bfloat16", "float16")
CONVENTIONS = standard_conventions()
WIDTHS = (1, 2, 7, 65, 512)


def tensor(array: Array, dtype: str) -> Tensor:
    return torch.tensor(array).to(getattr(torch, dtype))


def excess(inputs: object, output: Tensor, **conventions: str) -> float:
    """Return the largest error as a multiple of what is allowed."""
    expected = inputs.expected({**CONVENTIONS, **conventions})
    error = np.abs(output.to(torch.float64).numpy() - expected.value)
    return float(np.max(np.where(error == 0.0, 0.0, error / expected.allowed), initial=0.0))


def vectors(operation: str, dtype: str, eps: float = 1e-3) -> list[object]:
    settings = enumerate(product(EVERY_PALETTE, (1, 4), WIDTHS))
    return [
        draw_inputs(operation, VectorCase(3, 5, width, dtype, palette, amplitude, eps, seed))
        for seed, (palette, amplitude, width) in settings
    ]


def rms_eager(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    """Every step stored in the dtype; the squares are taken and summed in float32 at least."""
    wide = x if x.dtype == torch.float64 else x.float()
    square = wide.square().mean(-1, keepdim=True).to(x.dtype)
    return x * torch.rsqrt(square + eps) * gamma


def rms_divided(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    wide = x if x.dtype == torch.float64 else x.float()
    return x / torch.sqrt(wide.square().mean(-1, keepdim=True) + eps).to(x.dtype) * gamma


def rms_cast_before_gain(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    """As Llama's: normalised in float32, cast, then scaled."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * gamma


def rms_by_length(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    """The length by a loop, one square after the other, in float32 at least."""
    wide = x if x.dtype == torch.float64 else x.float()
    total = torch.zeros_like(wide[..., :1])
    for component in wide.unbind(-1):
        total = total + component[..., None] ** 2
    return (wide / torch.sqrt(total / x.shape[-1] + eps) * gamma).to(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", [rms_eager, rms_divided, rms_cast_before_gain, rms_by_length])
def test_no_correct_rms_norm_exceeds_its_bound(program: Callable[..., Tensor], dtype: str) -> None:
    for eps in (1e-5, 1e-1):
        for inputs in vectors("rms_norm", dtype, eps):
            output = program(tensor(inputs.x, dtype), tensor(inputs.gamma, dtype), eps)
            assert excess(inputs, output) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_correct_gain_of_one_plus_gamma_exceeds_its_bound(dtype: str) -> None:
    for inputs in vectors("rms_norm", dtype):
        x, gamma = tensor(inputs.x, dtype), tensor(inputs.gamma, dtype)
        output = rms_divided(x, gamma + 1.0, inputs.eps)
        assert excess(inputs, output, rms_norm_gain="one_plus_gamma") <= 1.0


@pytest.mark.parametrize(("dtype", "defect"), [("float32", 1e-4), ("float64", 1e-12), ("float16", 4e-2)])
def test_a_small_relative_error_of_an_rms_norm_is_seen(dtype: str, defect: float) -> None:
    for inputs in vectors("rms_norm", dtype):
        output = rms_divided(tensor(inputs.x, dtype), tensor(inputs.gamma, dtype), inputs.eps)
        if inputs.x.any():
            assert excess(inputs, output * (1.0 + defect)) > 1.0


def root_of_two(x: Tensor) -> Tensor:
    return x * math.sqrt(0.5)


ERF = {
    "torch": torch.nn.functional.gelu,
    "half first": lambda x: 0.5 * x * (1.0 + torch.erf(root_of_two(x))),
    "half last": lambda x: x * (1.0 + torch.erf(x / math.sqrt(2.0))) / 2.0,
    "complement": lambda x: 0.5 * x * torch.erfc(-root_of_two(x)),
}
TANH = {
    "torch": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "cube": lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x))),
    "power": lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
    "factored": lambda x: x * torch.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * x * (1.0 + 0.044715 * x * x)),
}
SIGMOID = {
    "sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
    "tanh": lambda x: x * 0.5 * (1.0 + torch.tanh(0.851 * x)),
}
SILU = {
    "torch": torch.nn.functional.silu,
    "sigmoid": lambda x: x * torch.sigmoid(x),
    "quotient": lambda x: x / (1.0 + torch.exp(-x)),
    "tanh": lambda x: 0.5 * x * (1.0 + torch.tanh(0.5 * x)),
}
PROGRAMS = [
    (operation, form, name, program)
    for operation, form, programs in (
        ("gelu", "erf", ERF),
        ("gelu", "tanh", TANH),
        ("gelu", "sigmoid", SIGMOID),
        ("silu", "erf", SILU),
    )
    for name, program in programs.items()
]
SWEEP = np.concatenate([np.linspace(-12.0, 12.0, 6001), np.linspace(-80.0, 80.0, 401)]).reshape(2, -1, 1)


def swept(operation: str, dtype: str) -> object:
    """Return the sweep as one input, rounded to the dtype."""
    return draw_inputs(operation, VectorCase(1, 1, 1, dtype)).with_x(SWEEP)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("operation", "form", "name", "program"), PROGRAMS, ids=lambda value: str(value)[:12])
def test_no_correct_activation_exceeds_its_bound(
    operation: str, form: str, name: str, program: Callable[[Tensor], Tensor], dtype: str
) -> None:
    inputs = swept(operation, dtype)
    assert excess(inputs, program(tensor(inputs.x, dtype)), gelu_form=form) <= 1.0
    for drawn in vectors(operation, dtype):
        assert excess(drawn, program(tensor(drawn.x, dtype)), gelu_form=form) <= 1.0


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize(("one", "other"), [("erf", "tanh"), ("erf", "sigmoid"), ("tanh", "sigmoid"), ("tanh", "erf")])
def test_one_form_of_gelu_is_not_another(one: str, other: str, dtype: str) -> None:
    programs = {"erf": ERF["half last"], "tanh": TANH["cube"], "sigmoid": SIGMOID["sigmoid"]}
    inputs = swept("gelu", dtype)
    assert excess(inputs, programs[one](tensor(inputs.x, dtype)), gelu_form=other) > 50.0


@pytest.mark.parametrize(("dtype", "defect"), [("float32", 3e-6), ("float64", 6e-15), ("float16", 2e-2)])
@pytest.mark.parametrize("operation", ["gelu", "silu"])
def test_a_gate_that_is_off_is_seen(operation: str, dtype: str, defect: float) -> None:
    inputs = swept(operation, dtype)
    x = torch.tensor(inputs.x)
    gate = torch.sigmoid(x) if operation == "silu" else 0.5 * torch.erfc(-x / math.sqrt(2.0))
    assert excess(inputs, x * (gate + defect)) > 1.0


def networks(operation: str, dtype: str) -> list[object]:
    sizes = ((1, 1), (2, 3), (5, 17), (64, 33), (17, 128))
    settings = product(EVERY_PALETTE, (1, 2), sizes, ("relu", "gelu", "silu"), (False, True))
    return [
        draw_inputs(
            operation,
            FeedForwardCase(2, 3, width, hidden, activation, biases, dtype, palette, amplitude, seed),  # type: ignore[arg-type]
        )
        for seed, (palette, amplitude, (width, hidden), activation, biases) in enumerate(settings)
    ]


def activated(name: str, x: Tensor) -> Tensor:
    return {"relu": torch.relu, "gelu": ERF["half first"], "silu": SILU["quotient"]}[name](x)


def run(inputs: object, dtype: str, shift: float = 0.0) -> Tensor:
    """The network in the dtype; matrix products accumulate in float32, their results are stored."""
    x = tensor(inputs.x, dtype)
    weights = {name: None if w is None else tensor(w, dtype) for name, w in vars(inputs.weights).items()}
    if inputs.operation == "gated_feed_forward":
        gate = activated(inputs.activation, x @ weights["w_gate"]) + shift
        return (gate * (x @ weights["w_up"])) @ weights["w_down"]
    hidden = x @ weights["w_1"]
    hidden = hidden if weights["b_1"] is None else hidden + weights["b_1"]
    output = (activated(inputs.activation, hidden) + shift) @ weights["w_2"]
    return output if weights["b_2"] is None else output + weights["b_2"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", ["feed_forward", "gated_feed_forward"])
def test_no_correct_network_exceeds_its_bound(operation: str, dtype: str) -> None:
    for inputs in networks(operation, dtype):
        output = run(inputs, dtype)
        if torch.isfinite(output).all():
            assert excess(inputs, output) <= 1.0
        else:
            assert dtype == "float16"


@pytest.mark.parametrize("operation", ["feed_forward", "gated_feed_forward"])
def test_small_networks_show_an_activation_that_is_off(operation: str) -> None:
    seen = [excess(inputs, run(inputs, "float32", 1e-3)) > 1.0 for inputs in networks(operation, "float32")]
    assert sum(seen) > 0.8 * len(seen)


def test_round_to_dtype_is_what_torch_rounds_to() -> None:
    for dtype in ("bfloat16", "float16"):
        rounded = round_to_dtype(SWEEP.astype(np.float32).astype(np.float64), dtype)
        np.testing.assert_array_equal(rounded, tensor(SWEEP.astype(np.float32), dtype).to(torch.float64).numpy())
