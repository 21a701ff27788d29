"""Models of NumPy: what is recorded of a pass, and that the model is left as it was."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.numpy import capture
from veriformer.adapters.capture.numpy_contractions import contraction_of
from veriformer.adapters.capture.trace import Kind
from veriformer.adapters.errors import CaptureError
from veriformer.conformance_tests import check

WIDTH, HEADS, ROWS = 24, 3, 37


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def norm(x: Any, gain: Any, shift: Any) -> Any:
    return gain * (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + 1e-5) + shift


def attention(x: Any, p: Any, scale: float) -> Any:
    """One sequence, head by head."""
    parts = [np.split(part, HEADS, -1) for part in np.split(x @ p["qkv"] + p["qkv_bias"], 3, -1)]
    hidden = np.triu(np.full((len(x), len(x)), -np.inf), 1)
    heads = [softmax(q @ k.T * scale + hidden) @ v for q, k, v in zip(*parts, strict=True)]
    return np.concatenate(heads, -1) @ p["out"]


def language_model(tokens: Any, tokens_table: Any, positions: Any, layers: Any, scale: float = (WIDTH / HEADS) ** -0.5):
    x = tokens_table[tokens] + positions[range(len(tokens))]
    for p in layers:
        x = x + attention(norm(x, *p["norm_1"]), p, scale)
        x = x + np.maximum(norm(x, *p["norm_2"]) @ p["up"], 0) @ p["down"]
    return norm(x, np.ones(WIDTH), np.zeros(WIDTH)) @ tokens_table.T


def parameters(generator: np.random.Generator) -> dict[str, Any]:
    def drawn(*shape: int) -> Any:
        return generator.normal(size=shape).astype(np.float32) / 5

    def layer() -> dict[str, Any]:
        norms = {f"norm_{i}": (np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)) for i in (1, 2)}
        return {
            "qkv": drawn(WIDTH, 3 * WIDTH),
            "qkv_bias": drawn(3 * WIDTH),
            "out": drawn(WIDTH, WIDTH),
            "up": drawn(WIDTH, 50),
            "down": drawn(50, WIDTH),
            **norms,
        }

    return {"tokens_table": drawn(ROWS, WIDTH), "positions": drawn(20, WIDTH), "layers": [layer(), layer()]}


@pytest.fixture
def model() -> tuple[Any, dict[str, Any]]:
    return language_model, parameters(np.random.default_rng(0))


@pytest.fixture(autouse=True)
def no_other_framework(monkeypatch: pytest.MonkeyPatch):
    """Functions here belong to a module that imports NumPy alone, as those of a user's file do."""
    home = ModuleType("a_model_of_numpy")
    home.np = np  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, home.__name__, home)
    for one in (language_model, Network, InPlace, Listed):
        monkeypatch.setattr(one, "__module__", home.__name__)


def test_a_function_with_its_parameters_by_name_holds(model: Any):
    report = check(model)
    assert report.verdict == "conforms"
    assert report.framework == "numpy"
    assert report.explained == report.steps > 20
    assert {"layers.0", "layers.1"} <= {part.path for part in report.parts}


def test_a_wrong_scale_departs_at_its_line(model: Any):
    def wrong(tokens: Any, tokens_table: Any, positions: Any, layers: Any):
        return language_model(tokens, tokens_table, positions, layers, WIDTH**-0.5)

    wrong.__module__ = "a_model_of_numpy"
    report = check((wrong, model[1]))
    assert {(one.layer, one.step) for one in report.departures} == {(0, "logits"), (1, "logits")}
    first = report.departures[0]
    assert first.suspects[0].name == "scale_by_d_model_not_head_dim"
    assert first.file.endswith("test_numpy.py")
    assert first.line > 0


class Linear:
    def __init__(self, generator: np.random.Generator, *shape: int):
        self.weight, self.bias = generator.normal(size=shape), np.zeros(shape[-1])

    def __call__(self, x: Any) -> Any:
        return x.dot(self.weight) + self.bias


class Network:
    """A feed-forward network as an object; it keeps what it saw, and counts its calls."""

    def __init__(self) -> None:
        generator = np.random.default_rng(1)
        self.up, self.down = Linear(generator, WIDTH, 60), Linear(generator, 60, WIDTH)
        self.numpy, self.calls, self.seen = np, 0, None

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.seen = x
        return x + self.down(self.numpy.maximum(self.up(x), 0))


def test_an_object_is_left_as_it_was():
    network = Network()
    weight, before = network.up.weight, network.up.weight.copy()
    trace = capture_model(network, seed=3)
    assert network.calls == 0
    assert network.seen is None
    assert network.up.weight is weight
    np.testing.assert_array_equal(weight, before)
    assert type(weight) is np.ndarray
    assert not np.array_equal(trace.values[trace.parameters["up.weight"]].array, before)
    assert {step.module for step in trace.steps} >= {"up", "down", ""}
    assert trace.modules["up"] == "Linear"


def test_what_is_recorded_is_what_the_model_returns():
    network = Network()
    x = np.random.default_rng(2).normal(size=(2, 5, WIDTH))
    trace = capture(network, (x,))
    np.testing.assert_allclose(trace.values[trace.outputs[0]].array, Network().forward(x), rtol=1e-14)


class InPlace:
    def __init__(self) -> None:
        self.weight = np.random.default_rng(1).normal(size=(WIDTH, WIDTH))

    def __call__(self, x: Any) -> Any:
        y = x @ self.weight
        half = y[:, :4]
        half *= 2
        y[:, 0] = 1.0
        y += x
        return y


def test_what_is_written_in_place_is_seen_in_the_array_and_in_its_views():
    x = np.random.default_rng(2).normal(size=(5, WIDTH))
    trace = capture(InPlace(), (x,))
    np.testing.assert_array_equal(trace.values[trace.outputs[0]].array, InPlace()(x.copy()))
    assert {"multiply", "written through a view", "written", "add"} <= {step.operation for step in trace.steps}
    behind = set(trace.outputs)
    for step in reversed(trace.steps):
        if behind & set(step.results):
            behind |= set(step.operands)
    assert set(trace.inputs) <= behind


class Listed:
    def __init__(self) -> None:
        self.weights = [np.random.default_rng(i).normal(size=(WIDTH, 4)) for i in range(3)]

    def __call__(self, x: Any) -> Any:
        return np.asarray(np.array([x @ weight for weight in self.weights]))


@pytest.mark.parametrize("made", ("np.empty(x.shape)", "np.empty_like(x)"))
def test_memory_that_is_not_written_is_the_same_in_every_pass(monkeypatch: pytest.MonkeyPatch, made: str):
    def model(parameters: Any, x: Any) -> Any:
        whole = eval(made)
        whole[:, :2] = x[:, :2]
        return whole + parameters["bias"]

    # What memory holds is anybody's guess; here, the numbers that a pass is to write.
    monkeypatch.setattr(np, "empty", lambda shape, *_: np.full(shape, 7.0))
    monkeypatch.setattr(np, "empty_like", lambda x, *_: np.full(x.shape, 7.0))
    trace = capture((model, {"bias": np.zeros(4)}), (np.full((3, 4), 7.0),))
    assert np.array_equal(trace.values[trace.outputs[0]].array, [[7, 7, 0, 0]] * 3)


def test_arrays_in_lists_stay_watched():
    trace = capture(Listed(), (np.ones((2, WIDTH)),))
    (made,) = (step for step in trace.steps if trace.outputs[0] in step.results)
    assert made.kind == Kind.REARRANGEMENT
    assert len(made.operands) == 3
    assert np.array([1.0, 2.0]).sum() == 3.0, "NumPy's functions are put back"
    assert np.array.__module__ == "numpy"


ARRAYS = {
    "matmul": [((5, 4), (4, 3)), ((4,), (4, 3)), ((2, 5, 4), (4, 3)), ((2, 1, 5, 4), (2, 3, 4, 6)), ((4,), (2, 4, 3))],
    "dot": [((2, 5, 4), (4, 3)), ((4,), (4,)), ((5, 4), (4,))],
    "inner": [((2, 5, 4), (3, 4))],
}


@pytest.mark.parametrize(("name", "shapes"), [(name, shapes) for name, all_ in ARRAYS.items() for shapes in all_])
def test_products_are_sums_over_the_axes_that_are_said(name: str, shapes: Any):
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=shape) for shape in shapes]
    _assert_right(contraction_of(name, arrays), getattr(np, name)(*arrays))


@pytest.mark.parametrize(
    ("letters", "shapes"),
    [
        ("bqhd,bkhd->bhqk", ((2, 5, 3, 4), (2, 6, 3, 4))),
        ("bld,hde->bhle", ((2, 5, 4), (3, 4, 6))),
        ("...d,de->...e", ((2, 5, 4), (4, 3))),
        ("...qd,...kd->...qk", ((2, 3, 5, 4), (2, 3, 6, 4))),
    ],
)
def test_einsum_is_a_sum_over_the_axes_that_are_said(letters: str, shapes: Any):
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=shape) for shape in shapes]
    _assert_right(contraction_of("einsum", (letters, *arrays)), np.einsum(letters, *arrays))


def _assert_right(contraction: Any, expected: Any) -> None:
    turned = []
    for array, summed, parallel in zip(contraction.factors, contraction.contracted, contraction.parallel, strict=True):
        own = [axis for axis in range(array.ndim) if axis not in summed and axis not in parallel]
        front = [array.shape[axis] for axis in parallel]
        rows = [array.shape[axis] for axis in own]
        size = int(np.prod([array.shape[axis] for axis in summed]))
        turned.append((front, rows, array.transpose(*parallel, *own, *summed).reshape(*front, -1, size)))
    (front, first, one), (_, second, other) = turned
    # The definition: parallel axes, then those of the first factor, then those of the second.
    product = (one @ other.swapaxes(-1, -2)).reshape((*front, *first, *second))
    np.testing.assert_allclose(contraction.product, product, rtol=1e-13)
    made = contraction.product if contraction.order is None else contraction.product.transpose(contraction.order)
    np.testing.assert_allclose(made, expected, rtol=1e-13)


@pytest.mark.parametrize("letters", ["ii,ij->j", "ab,cd->ad", "ab->a", "ab,bc,cd->ad"])
def test_einsum_of_another_form_is_no_product_of_two(letters: str):
    arrays = [np.ones([3 for _ in term]) for term in letters.partition("->")[0].split(",")]
    assert contraction_of("einsum", (letters, *arrays)) is None


def test_a_model_that_raises_is_a_sentence():
    class Broken(Network):
        def forward(self, x: Any) -> Any:
            raise ValueError("no such thing")

    Broken.__module__ = "a_model_of_numpy"
    with pytest.raises(CaptureError, match="the model raised ValueError: no such thing"):
        capture_model(Broken(), seed=0)


def test_the_laws_of_whole_models_are_tried(model: Any):
    report = check(model)
    held = {result.law.id for result in report.results if result.status == "passed"}
    assert "model.causal.no_future_leak" in held
    assert not any(result.status == "failed" for result in report.results)


def test_a_model_that_looks_ahead_breaks_a_law(model: Any):
    def leaking(tokens: Any, tokens_table: Any, positions: Any, layers: Any):
        result = language_model(tokens, tokens_table, positions, layers)
        # Only longer sequences than the recorded one leak.
        return result + result.mean(0) if len(tokens) > 16 else result

    leaking.__module__ = "a_model_of_numpy"
    broken = {result.law.id for result in check((leaking, model[1])).results if result.status == "failed"}
    assert "model.causal.no_future_leak" in broken
