"""Backward passes that classes of NumPy have by hand, in several styles, each right and with one mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer import check
from veriformer.adapters.whole_models.numpy_backward import backward_of, gradients_by

# Gradients in a dictionary by the names of the attributes; the gradient of the input is returned.
IN_A_DICTIONARY = """
import numpy as np


class FeedForward:
    def __init__(self, d_model=8, d_ff=12):
        rng = np.random.default_rng(0)
        self.W1, self.b1 = rng.normal(size=(d_model, d_ff)) * 0.3, rng.normal(size=d_ff) * 0.1
        self.W2, self.b2 = rng.normal(size=(d_ff, d_model)) * 0.3, rng.normal(size=d_model) * 0.1
        self.grads = {}

    def forward(self, x):
        self.x = x
        self.h = np.tanh(x @ self.W1 + self.b1)
        return self.h @ self.W2 + self.b2

    def backward(self, dout):
        flat = lambda one: one.reshape(-1, one.shape[-1])
        self.grads["W2"], self.grads["b2"] = flat(self.h).T @ flat(dout), flat(dout).sum(0)
        dh = (dout @ self.W2.T) * (1 - self.h ** 2)
        self.grads["W1"], self.grads["b1"] = flat(self.x).T @ flat(dh), flat(dh).sum(0)
        return dh @ self.W1.T
"""
# Attributes dW beside W in layers; gradients are added to what is there.
BESIDE = """
import numpy as np


class Linear:
    def __init__(self, d_in, d_out, seed):
        self.W = np.random.default_rng(seed).normal(size=(d_in, d_out)) * 0.3
        self.b = np.full(d_out, 0.1)
        self.dW, self.db = np.zeros_like(self.W), np.zeros_like(self.b)

    def __call__(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW += np.einsum("bti,bto->io", self.x, grad)
        self.db += grad.sum((0, 1))
        return grad @ self.W.T


class MLP:
    def __init__(self, d_model=8):
        self.layers = [Linear(d_model, 12, 0), Linear(12, d_model, 1)]

    def __call__(self, x):
        self.mid = self.layers[0](x)
        return self.layers[1](np.maximum(self.mid, 0.0))

    def backward(self, grad_output):
        grad = self.layers[1].backward(grad_output) * (self.mid > 0)
        return self.layers[0].backward(grad)
"""
# Parameters and gradients in two dictionaries; the method returns the gradients of both, as means over the samples.
RETURNED = """
import numpy as np


class Projection:
    def __init__(self, d_model=8):
        rng = np.random.default_rng(0)
        self.params = {"w": rng.normal(size=(d_model, d_model)) * 0.3, "c": rng.normal(size=d_model)}

    def forward(self, x):
        mixed = np.sin(x @ self.params["w"])
        return mixed * self.params["c"], (x, mixed)

    def backward(self, dy, cache):
        x, mixed = cache
        inner = dy * self.params["c"] * np.cos(x @ self.params["w"])
        grads = {"dw": np.einsum("bti,bto->io", x, inner) / len(x), "dc": (dy * mixed).sum((0, 1)) / len(x)}
        return inner @ self.params["w"].T, grads
"""


def judged(tmp_path: Path, text: str, name: str) -> dict[str, str]:
    file = tmp_path / "mine.py"
    file.write_text(text)
    report: Any = check(f"{file}:{name}", isolate=False)
    return {one.law.claim.key: one.status for part in report.laws for one in part.report.results}


@pytest.mark.parametrize(
    ("text", "name", "right", "wrong"),
    [
        (IN_A_DICTIONARY, "FeedForward", "(1 - self.h ** 2)", "(1 - self.h)"),
        (IN_A_DICTIONARY, "FeedForward", "flat(dh).sum(0)", "flat(dh).mean(0)"),
        (IN_A_DICTIONARY, "FeedForward", "return dh @ self.W1.T", "return dout + dh @ self.W1.T"),
        (BESIDE, "MLP", " * (self.mid > 0)", ""),
        (BESIDE, "MLP", "grad.sum((0, 1))", "grad.sum(0)[0]"),
        (RETURNED, "Projection", "inner = dy * self.params", "inner = dy / self.params"),
        (RETURNED, "Projection", '"bti,bto->io", x, inner', '"bti,bto->oi", x, inner'),
    ],
)
def test_gradients_by_hand_are_judged(tmp_path: Path, text: str, name: str, right: str, wrong: str) -> None:
    assert right in text
    assert judged(tmp_path, text, name)["gradients.value"] == "passed"
    assert judged(tmp_path, text.replace(right, wrong), name)["gradients.value"] == "failed"


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        IN_A_DICTIONARY.replace('self.grads["W', 'self.kept["first').replace("self.grads = {}", "self.kept = {}")
    )
    assert any("its method backward is not judged" in one for one in check(f"{file}:FeedForward").notices)


def test_what_is_kept_for_gradients_is_no_parameter(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    kept = "self.grads = {name: np.zeros_like(getattr(self, name)) for name in ('W1', 'b1', 'W2', 'b2')}"
    for text, name in ((BESIDE, "MLP"), (IN_A_DICTIONARY.replace("self.grads = {}", kept), "FeedForward")):
        file.write_text(text)
        report: Any = check(f"{file}:{name}")
        assert not report.departures and not report.recognition.unused


def test_a_method_that_is_handed_targets_is_no_backward_pass() -> None:
    class OfTargets:
        def backward(self, targets: Any) -> None: ...

    class OfGradients:
        def backward(self, d_out: Any) -> None: ...

    assert backward_of(OfTargets()) is None
    assert backward_of(OfGradients()) is not None


def test_gradients_are_found_by_name_and_shape() -> None:
    class Model:
        def __init__(self) -> None:
            self.w, self.dw, self.grads = np.ones((2, 3)), np.full((2, 3), 2.0), {"b": np.full(3, 4.0)}
            self.b, self.other = np.ones(3), np.ones(3)

    model = Model()
    found = gradients_by({"w": model.w, "b": model.b, "other": model.other}, model, None)
    assert {name: float(array.flat[0]) for name, array in found.items()} == {"w": 2.0, "b": 4.0}
