"""Mistakes in norms, activations and feed-forward networks: one line changed, and the law that names it fails.

Every counterexample must be small enough to be read: no vector of it is longer than four.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.cases.case import FeedForwardCase, VectorCase

SOURCES = Path(__file__).parent / "sources"


@dataclass(frozen=True)
class Mistake:
    """A line of a correct source, what a mistaken author wrote instead, and the laws that say so."""

    name: str
    source: str
    right: str
    wrong: str
    laws: tuple[str, ...]

    def write(self, folder: Path) -> Path:
        text = (SOURCES / f"layers_{self.source}.py").read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.right!r} must occur once in the source"
        path = folder / "my_layers.py"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return path


_LAYER_NORM = (
    Mistake(
        "unbiased variance",
        "torch",
        "correction=0",
        "correction=1",
        ("layer_norm.value", "layer_norm.unit_variance"),
    ),
    Mistake(
        "eps outside the root",
        "numpy",
        "return centred / np.sqrt(variance + x.dtype.type(eps)) * gamma + beta",
        "return centred / (np.sqrt(variance) + x.dtype.type(eps)) * gamma + beta",
        ("layer_norm.eps", "layer_norm.unit_variance"),
    ),
    Mistake(
        "another eps",
        "torch",
        "torch.rsqrt(variance + eps)",
        "torch.rsqrt(variance + 1e-12)",
        ("layer_norm.eps",),
    ),
    Mistake(
        "variance as a difference of large squares",
        "numpy",
        "variance = np.mean(centred**2, axis=-1, keepdims=True)",
        "variance = np.mean(x**2, axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2",
        ("layer_norm.large_mean",),
    ),
)
_RMS_NORM = (
    Mistake(
        "eps outside the root",
        "numpy",
        "root = np.sqrt(square + x.dtype.type(eps))",
        "root = np.sqrt(square) + x.dtype.type(eps)",
        ("rms_norm.eps", "rms_norm.scale", "rms_norm.unit_mean_square"),
    ),
    Mistake(
        "root taken twice",
        "numpy",
        "root = np.sqrt(square + x.dtype.type(eps))",
        "root = np.sqrt(np.sqrt(square) + x.dtype.type(eps))",
        ("rms_norm.scale", "rms_norm.unit_mean_square", "rms_norm.value"),
    ),
    Mistake(
        "another eps",
        "numpy",
        "root = np.sqrt(square + x.dtype.type(eps))",
        "root = np.sqrt(square + np.float32(1e-8))",
        ("rms_norm.eps",),
    ),
    Mistake(
        "the vector is centred",
        "numpy",
        "normalised = x / root",
        "normalised = (x - x.mean(axis=-1, keepdims=True)) / root",
        ("rms_norm.constant_vector", "rms_norm.reflection"),
    ),
    Mistake(
        "a length instead of a mean",
        "numpy",
        "square = np.mean(x**2, axis=-1, keepdims=True)",
        "square = np.sum(x**2, axis=-1, keepdims=True)",
        ("rms_norm.unit_mean_square",),
    ),
    Mistake(
        "statistics of all vectors together",
        "numpy",
        "square = np.mean(x**2, axis=-1, keepdims=True)",
        "square = np.mean(x**2, keepdims=True)",
        ("rms_norm.batch.independence",),
    ),
    Mistake(
        "the input is overwritten",
        "numpy",
        "normalised = x / root",
        "normalised = np.divide(x, root, out=x)",
        ("rms_norm.inputs_unchanged",),
    ),
    Mistake(
        "the gain before the normalisation",
        "torch",
        "return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gamma",
        "x = x * gamma\n    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)",
        ("rms_norm.gain",),
    ),
    Mistake(
        "magnitudes instead of squares",
        "torch",
        "torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)",
        "1 / (x.abs().mean(-1, keepdim=True) + eps)",
        ("rms_norm.unit_mean_square", "rms_norm.reflection"),
    ),
)
_ACTIVATIONS = (
    Mistake(
        "the factor x is missing",
        "numpy",
        "return (x * (1 + np.tanh(inner)) / 2).astype(x.dtype)",
        "return ((1 + np.tanh(inner)) / 2).astype(x.dtype)",
        ("gelu.zero", "gelu.reflection", "gelu.tails"),
    ),
    Mistake("a digit of the constant", "numpy", "np.float32(0.044715)", "np.float32(0.44715)", ("gelu.value",)),
    Mistake(
        "the tanh form where erf is declared",
        "torch",
        "return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))",
        "return torch.nn.functional.gelu(x, approximate='tanh')",
        ("gelu.value",),
    ),
    Mistake(
        "the sigmoid form where erf is declared",
        "torch",
        "return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))",
        "return x * torch.sigmoid(1.702 * x)",
        ("gelu.value",),
    ),
    Mistake("no root of two", "torch", "torch.erf(x / math.sqrt(2))", "torch.erf(x)", ("gelu.value",)),
    Mistake("the exponent's sign", "numpy", "np.exp(-x)", "np.exp(x)", ("silu.value", "silu.tails", "silu.increasing")),
    Mistake(
        "exponentials that overflow",
        "numpy",
        "gate = 1 / (1 + np.exp(-x))",
        "gate = np.exp(np.minimum(x, 1e30)) / (1 + np.exp(x))",
        ("silu.tails",),
    ),
    Mistake(
        "the even part",
        "torch",
        "return x * torch.sigmoid(x)",
        "return x * torch.sigmoid(x.abs())",
        ("silu.reflection",),
    ),
    Mistake(
        "a gate that is shifted",
        "torch",
        "return x * torch.sigmoid(x)",
        "return x * torch.sigmoid(x - 0.01)",
        ("silu.reflection", "silu.value"),
    ),
    Mistake(
        "a softmax instead of a sigmoid",
        "torch",
        "return x * torch.sigmoid(x)",
        "return x * torch.softmax(x, dim=-1)",
        ("silu.elementwise",),
    ),
    Mistake(
        "a gate beyond one",
        "torch",
        "return x * torch.sigmoid(x)",
        "return x * (2 * torch.sigmoid(x))",
        ("silu.between",),
    ),
)
_NETWORKS = (
    Mistake(
        "the activation after the second matrix",
        "numpy",
        "    hidden = ACTIVATIONS[activation](inner)\n    output = hidden @ weights.w_2",
        "    output = ACTIVATIONS[activation](inner @ weights.w_2)",
        ("feed_forward.value", "feed_forward.hidden.sum"),
    ),
    Mistake(
        "the first bias after the activation",
        "torch",
        "hidden = act(torch.nn.functional.linear(x, weights.w_1.T, weights.b_1))",
        "hidden = act(x @ weights.w_1) + (0 if weights.b_1 is None else weights.b_1)",
        ("feed_forward.value",),
    ),
    Mistake(
        "no second bias",
        "torch",
        "return torch.nn.functional.linear(hidden, weights.w_2.T, weights.b_2)",
        "return torch.nn.functional.linear(hidden, weights.w_2.T)",
        ("feed_forward.output_bias",),
    ),
    Mistake(
        "a bias of ones for None",
        "numpy",
        "    if weights.b_2 is not None:\n        output = output + weights.b_2",
        "    output = output + (1 if weights.b_2 is None else weights.b_2)",
        ("feed_forward.biases", "feed_forward.relu_homogeneity"),
    ),
    Mistake(
        "the hidden units normalised",
        "numpy",
        "output = hidden @ weights.w_2",
        "output = (hidden - hidden.mean(axis=-1, keepdims=True)) @ weights.w_2",
        ("feed_forward.hidden.sum",),
    ),
    Mistake(
        "the activation over all positions",
        "numpy",
        "hidden = ACTIVATIONS[activation](inner)",
        "hidden = ACTIVATIONS[activation](inner - inner.mean(axis=-2, keepdims=True))",
        ("feed_forward.batch.independence",),
    ),
    Mistake(
        "hidden units shifted against the second matrix",
        "numpy",
        "hidden = ACTIVATIONS[activation](inner)",
        "hidden = ACTIVATIONS[activation](inner) * np.arange(1, inner.shape[-1] + 1, dtype=x.dtype)",
        ("feed_forward.hidden.permutation",),
    ),
    Mistake(
        "gate and branch swapped",
        "numpy",
        "return (ACTIVATIONS[activation](gate) * up) @ weights.w_down",
        "return (ACTIVATIONS[activation](up) * gate) @ weights.w_down",
        ("gated_feed_forward.up_branch.sign", "gated_feed_forward.up_branch.linear", "gated_feed_forward.value"),
    ),
    Mistake(
        "branches added instead of multiplied",
        "torch",
        "return (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down",
        "return (act(x @ weights.w_gate) + (x @ weights.w_up)) @ weights.w_down",
        ("gated_feed_forward.zero_gate",),
    ),
    Mistake(
        "the product is activated",
        "torch",
        "return (act(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down",
        "return act((x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down",
        ("gated_feed_forward.up_branch.linear", "gated_feed_forward.up_branch.sign"),
    ),
    Mistake(
        "one activation whatever is asked for",
        "numpy",
        "return (ACTIVATIONS[activation](gate) * up) @ weights.w_down",
        "return (silu(gate) * up) @ weights.w_down",
        ("gated_feed_forward.value",),
    ),
    Mistake(
        "units of the gate in reverse",
        "numpy",
        "return (ACTIVATIONS[activation](gate) * up) @ weights.w_down",
        "return (ACTIVATIONS[activation](gate[..., ::-1]) * up) @ weights.w_down",
        ("gated_feed_forward.hidden.sum",),
    ),
    Mistake(
        "the gate of the first position for all",
        "numpy",
        "return (ACTIVATIONS[activation](gate) * up) @ weights.w_down",
        "return (ACTIVATIONS[activation](gate[:, :1]) * up) @ weights.w_down",
        ("gated_feed_forward.batch.independence",),
    ),
)
MISTAKES = (*_LAYER_NORM, *_RMS_NORM, *_ACTIVATIONS, *_NETWORKS)


def _name(mistake: Mistake) -> str:
    return f"{mistake.laws[0].partition('.')[0]}-{mistake.name.replace(' ', '_')}"


@pytest.mark.parametrize("mistake", MISTAKES, ids=_name)
def test_the_laws_that_name_the_mistake_fail_on_small_cases(mistake: Mistake, tmp_path: Path) -> None:
    if mistake.source != "numpy":
        pytest.importorskip(mistake.source)
    with np.errstate(all="ignore"):
        report = check(str(mistake.write(tmp_path)), laws=mistake.laws)
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(mistake.laws, "failed")
    assert report.exit_status == 1
    for result in report.results:
        assert result.counterexample is not None
        _assert_readable(result.counterexample.case)


def _assert_readable(case: object) -> None:
    assert isinstance(case, VectorCase | FeedForwardCase)
    assert max(case.batch, case.rows) <= 2, case.describe()
    assert case.width <= 4, case.describe()
    assert not isinstance(case, FeedForwardCase) or case.hidden <= 3, case.describe()


@pytest.mark.parametrize("source", ["numpy", "torch"])
@pytest.mark.parametrize("seed", range(2))
def test_the_file_without_a_mistake_conforms(source: str, seed: int) -> None:
    if source != "numpy":
        pytest.importorskip(source)
    report = check(str(SOURCES / f"layers_{source}.py"), seed=seed)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.exit_status == 0


OPERATIONS = ("layer_norm", "rms_norm", "gelu", "silu", "feed_forward", "gated_feed_forward")


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("seed", range(5))
def test_the_built_in_implementations_conform(name: str, seed: int) -> None:
    pytest.importorskip(name)
    report = check(name, operations=OPERATIONS, tier="quick", seed=seed)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []
    assert report.counts["passed"] >= 28
