"""Operations that differentiate inside, or that take care not to: each is called as its user calls it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationRaised
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

LAWS = ("attention_backward.grad_query", "attention_backward.inputs_unchanged", "attention_backward.shape")
BACKWARD = "scaled_dot_product_attention_backward"
SHAPES = {"query": (2, 3, 5, 4), "key": (2, 3, 7, 4), "value": (2, 3, 7, 6), "grad_output": (2, 3, 5, 6)}
RANDOM = np.random.default_rng(3)
GIVEN = {name: RANDOM.integers(-2, 3, shape).astype(float) for name, shape in SHAPES.items()}

TORCH_BACKWARD = """
import math
import torch
framework = "torch"
dtypes = ("float64",)
scaled_dot_product_attention = None

def _attend(q, k, v, mask, is_causal, scale):
    logits = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    if is_causal:
        logits = logits.masked_fill(torch.ones_like(logits, dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return torch.nan_to_num(logits.softmax(-1)) @ v

def scaled_dot_product_attention_backward(q, k, v, grad, /, *, mask=None, is_causal=False, scale=None):
    leaves = [each.detach().clone().requires_grad_() for each in (q, k, v)]
    return torch.autograd.grad(_attend(*leaves, mask, is_causal, scale), leaves, grad)
"""

JAX_BACKWARD = """
import jax
import jax.numpy as jnp
framework = "jax"
scaled_dot_product_attention = None

def scaled_dot_product_attention_backward(q, k, v, grad):
    def objective(q, k, v):
        logits = jnp.einsum("bhld,bhsd->bhls", q, k) / q.shape[-1] ** 0.5
        return jnp.sum(jax.nn.softmax(logits, axis=-1) @ v * grad)
    return jax.grad(objective, argnums=(0, 1, 2))(q, k, v)
"""


def call(function: Any, operation: str, arguments: dict[str, Any], framework: str = "torch") -> Any:
    implementation = load(SimpleNamespace(framework=framework, **{operation: function}))
    return prepare(implementation, operation, arguments, dtype="float32")


@pytest.mark.parametrize("isolate", [False, True])
def test_a_backward_pass_written_with_differentiation_holds(tmp_path: Path, isolate: bool) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(TORCH_BACKWARD)
    report = check(str(path), laws=LAWS, tier="quick", isolate=isolate, diagnosis=False)
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(LAWS, "passed")


@pytest.mark.parametrize(("framework", "source"), [("torch", TORCH_BACKWARD), ("jax", JAX_BACKWARD)])
def test_differentiation_inside_gives_the_gradients(tmp_path: Path, framework: str, source: str) -> None:
    pytest.importorskip(framework)
    path = tmp_path / "mine.py"
    path.write_text(source)
    result = prepare(load(str(path)), BACKWARD, GIVEN, dtype="float32").run()
    expected = reference.scaled_dot_product_attention_backward(*GIVEN.values())
    np.testing.assert_allclose(result.value, np.concatenate([each.ravel() for each in expected]), atol=1e-5)


def test_arguments_do_not_require_gradients() -> None:
    torch = pytest.importorskip("torch")
    seen = []

    def softmax(x: Any) -> Any:
        seen.append((torch.is_grad_enabled(), x.requires_grad, x.is_leaf))
        x = x.clone()
        x -= x.amax(-1, keepdim=True)
        return x.exp_().div_(x.sum(-1, keepdim=True))

    call(softmax, "softmax", {"x": GIVEN["query"]}).run()
    assert seen == [(True, False, True)]


@pytest.mark.parametrize("way", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("isolate", [False, True])
def test_an_operation_that_records_nothing_holds(tmp_path: Path, way: str, isolate: bool) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch\nframework = 'torch'\n"
        f"@torch.{way}()\ndef softmax(x):\n    return x.softmax(-1)\n"
        f"@torch.{way}()\ndef scaled_dot_product_attention(q, k, v):\n"
        "    return torch.nn.functional.scaled_dot_product_attention(q, k, v)\n"
    )
    report = check(str(path), tier="quick", isolate=isolate, diagnosis=False)
    assert report.verdict == "conforms", [result.reason for result in report.results if result.reason]


CUT_OFF = """
def softmax(x):
    weights = (x * 1).softmax(-1)
    return torch.tensor(weights.tolist(), dtype=x.dtype)
"""


@pytest.mark.parametrize(
    ("framework", "source"),
    [
        ("torch", f"import torch\n{CUT_OFF}"),
        ("torch", "import torch\ndef softmax(x):\n    return torch.from_numpy(x.numpy()).softmax(-1)"),
        ("jax", "import jax, numpy\ndef softmax(x):\n    return jax.nn.softmax(jax.numpy.array(numpy.asarray(x)))"),
    ],
    ids=["cut off", "through NumPy in torch", "through NumPy in jax"],
)
def test_only_a_gradient_that_was_recorded_can_be_cut_off(tmp_path: Path, framework: str, source: str) -> None:
    pytest.importorskip(framework)
    path = tmp_path / "mine.py"
    path.write_text(f"framework = {framework!r}\n{source}\n")
    report = check(str(path), laws=("softmax.value", "softmax_backward.grad_x"), tier="quick", diagnosis=False)
    statuses = {result.law.id: result.status for result in report.results}
    assert statuses["softmax.value"] == "passed"
    is_cut_off = "tolist" in source
    assert statuses["softmax_backward.grad_x"] == ("error" if is_cut_off else "not_declared")


def test_an_operation_written_for_inference_is_called_without_gradients() -> None:
    """Its weights are parameters that it writes over, which torch refuses where gradients are recorded."""
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(4, 4, bias=False)

    def in_place(x: Any) -> Any:
        linear.weight.copy_(torch.eye(4))
        return linear(x).softmax(-1)

    def through_numpy(x: Any) -> Any:
        linear.weight.data = torch.eye(4)
        return torch.from_numpy(linear(x).numpy()).softmax(-1)

    expected = torch.tensor(GIVEN["query"]).float().softmax(-1).numpy()
    for function in (in_place, through_numpy):
        np.testing.assert_allclose(call(function, "softmax", {"x": GIVEN["query"]}).run().value, expected, atol=1e-6)


def test_any_other_refusal_is_made_once() -> None:
    torch = pytest.importorskip("torch")
    calls = []

    def softmax(x: Any) -> Any:
        # Arrays of other frameworks that are imported come when nothing answers.
        calls.extend([x] if isinstance(x, torch.Tensor) else [])
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")

    with pytest.raises(OperationRaised, match="does not require grad"):
        call(softmax, "softmax", {"x": GIVEN["query"]}).run()
    assert len(calls) == 1


def test_the_mode_of_gradients_is_put_back() -> None:
    torch = pytest.importorskip("torch")

    def softmax(x: Any) -> Any:
        torch.set_grad_enabled(False)
        return x.softmax(-1)

    call(softmax, "softmax", {"x": GIVEN["query"]}).run()
    assert torch.is_grad_enabled()


def test_no_graph_outlives_its_call() -> None:
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.ones(4))

    def softmax(x: Any) -> Any:
        result = (x * parameter).softmax(-1)
        assert result.requires_grad
        return result

    returned = call(softmax, "softmax", {"x": GIVEN["query"]})._returned()
    assert (returned.requires_grad, returned.grad_fn) == (False, None)


def test_a_worker_differentiates_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(TORCH_BACKWARD)
    implementation = load_isolated(str(path))
    try:
        far = prepare(implementation, BACKWARD, GIVEN, dtype="float64").run()
        near = prepare(load(str(path)), BACKWARD, GIVEN, dtype="float64").run()
    finally:
        implementation.close()
    np.testing.assert_array_equal(far.value, near.value)
