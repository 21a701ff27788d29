"""Programs on TensorFlow, MLX and tinygrad: right ones conform, and the mistakes of wrong ones are named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import NotDifferentiable
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.snippet import reproduce

HEADS = {
    "tensorflow": 'import tensorflow as tf\nframework = "tensorflow"\n',
    "mlx": 'import mlx.core as mx\nframework = "mlx"\n',
    "tinygrad": 'from tinygrad import Tensor, dtypes\nframework = "tinygrad"\n',
}
SOFTMAX = {
    "tensorflow": "def softmax(x):\n    return tf.nn.softmax(x, axis={axis})\n",
    "mlx": "def softmax(x):\n    return mx.softmax(x, axis={axis})\n",
    "tinygrad": "def softmax(x):\n    return x.softmax({axis})\n",
}
ATTENTION = {
    "tensorflow": "def scaled_dot_product_attention(query, key, value, *, mask=None):\n"
    "    logits = tf.matmul(query, key, transpose_b=True) * {scale}\n"
    "    if mask is not None:\n        logits = tf.where(mask, logits, float('-inf'))\n"
    "    return tf.matmul(tf.nn.softmax(logits), value)\n",
    "mlx": "def scaled_dot_product_attention(query, key, value, *, mask=None):\n"
    "    return mx.fast.scaled_dot_product_attention(query, key, value, scale={scale}, mask=mask)\n",
    "tinygrad": "def scaled_dot_product_attention(query, key, value, *, mask=None):\n"
    "    logits = query @ key.transpose(-1, -2) * {scale}\n"
    "    if mask is not None:\n        logits = mask.where(logits, -float('inf'))\n"
    "    return logits.softmax(-1) @ value\n",
}
EMBEDDING = {
    "tensorflow": "def token_embedding(tokens, table):\n    return tf.gather(table, tokens)\n",
    "mlx": "def token_embedding(tokens, table):\n    return table[tokens]\n",
    "tinygrad": "def token_embedding(tokens, table):\n    return table[tokens]\n",
}
DIFFERENTIATING = ("tensorflow", "mlx")
STOPPED = {
    "tensorflow": "def silu(x):\n    return x * tf.stop_gradient(tf.sigmoid(x))\n",
    "mlx": "def silu(x):\n    return x * mx.stop_gradient(mx.sigmoid(x))\n",
}
ELSEWHERE = {
    "tensorflow": "def silu(x):\n    x = x.numpy()\n    return tf.constant(x * (1 + np.tanh(x / 2)) / 2)\n",
    "mlx": "def silu(x):\n    x = np.array(x)\n    return mx.array(x * (1 + np.tanh(x / 2)) / 2)\n",
}
LAYER_NORM = {
    "tensorflow": "def layer_norm(x, gamma, beta, eps):\n    mean, variance = tf.nn.moments(x, [-1], keepdims=True)\n"
    "    return (x - tf.stop_gradient(mean)) * tf.math.rsqrt(variance + eps) * gamma + beta\n",
    "mlx": "def layer_norm(x, gamma, beta, eps):\n    mean = mx.stop_gradient(x.mean(-1, keepdims=True))\n"
    "    return (x - mean) * mx.rsqrt(x.var(-1, keepdims=True) + eps) * gamma + beta\n",
}
FEW = ("softmax.value", "softmax.dtype", "softmax.inputs_unchanged", "softmax.memory_layout")
FEW += ("attention.scale", "attention.mask.value", "embedding.value")


def written(folder: Path, framework: str, axis: int = -1, scale: str = "query.shape[-1] ** -0.5") -> str:
    path = folder / f"on_{framework}.py"
    text = HEADS[framework] + SOFTMAX[framework] + ATTENTION[framework] + EMBEDDING[framework]
    path.write_text(text.replace("{axis}", str(axis)).replace("{scale}", scale))
    return str(path)


@pytest.mark.parametrize("framework", HEADS)
def test_right_programs_conform(framework, tmp_path):
    report = check(written(tmp_path, framework), laws=FEW, tier="quick", isolate=True)
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(FEW, "passed")


@pytest.mark.parametrize("framework", HEADS)
def test_the_mistakes_of_wrong_programs_are_named(framework, tmp_path):
    path = written(tmp_path, framework, axis=0, scale="1.0")
    report = check(path, laws=("softmax.value", "attention.scale"), tier="quick")
    named = {name for diagnosis in report.diagnoses for name in diagnosis.suspects[0].mistakes}
    assert named == {"softmax_wrong_axis", "scale_missing"}


GRADIENTS = ("softmax_backward.grad_x", "attention_backward.grad_query", "embedding_backward.grad_table")


@pytest.mark.parametrize("framework", DIFFERENTIATING)
def test_the_gradients_of_right_programs_conform(framework, tmp_path):
    report = check(written(tmp_path, framework), laws=GRADIENTS, tier="quick")
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(GRADIENTS, "passed")


@pytest.mark.parametrize("framework", DIFFERENTIATING)
def test_a_gradient_that_is_stopped_is_wrong_and_one_computed_elsewhere_is_not_judged(framework, tmp_path):
    for body, status in ((STOPPED, "failed"), (ELSEWHERE, "not_declared")):
        path = tmp_path / f"{status}.py"
        path.write_text(HEADS[framework] + "import numpy as np\n" + body[framework])
        (result,) = check(str(path), laws=("silu_backward.grad_x",), tier="quick", diagnosis=False).results
        assert result.status == status, result.reason
        (forward,) = check(str(path), laws=("silu.value",), tier="quick", diagnosis=False).results
        assert forward.status == "passed"


@pytest.mark.parametrize("framework", DIFFERENTIATING)
def test_one_array_given_twice_has_a_gradient_for_each_place(framework):
    arrays = load(SimpleNamespace(framework=framework, softmax=lambda x: x)).framework
    one, two = (arrays.from_numpy(np.array([value, value]), "float32") for value in (1.0, 2.0))
    found = arrays.vector_jacobian_product(lambda x, y: x * y * y, (two, two), (one,), (0, 1))
    assert [arrays.to_numpy(gradient).tolist() for gradient in found] == [[4.0, 4.0], [8.0, 8.0]]
    found = arrays.vector_jacobian_product(lambda x, y: (x * x, y + y), (two, two), (one, two), (0, 1))
    assert [arrays.to_numpy(gradient).tolist() for gradient in found] == [[4.0, 4.0], [4.0, 4.0]]
    found = arrays.vector_jacobian_product(lambda x, y: x + x, (two, two), (one,), (0, 1))
    assert [arrays.to_numpy(gradient).tolist() for gradient in found] == [[2.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("framework", DIFFERENTIATING)
@pytest.mark.parametrize("returned", [None, 3.0, "narrow", "several"])
def test_results_unlike_their_gradients_are_not_differentiated(framework, returned):
    arrays = load(SimpleNamespace(framework=framework, softmax=lambda x: x)).framework
    given = arrays.from_numpy(np.ones(2), "float32")
    kinds = {"narrow": lambda x: x[:1], "several": lambda x: (x, x)}
    with pytest.raises(NotDifferentiable, match="the forward pass returned"):
        arrays.vector_jacobian_product(kinds.get(returned, lambda x: returned), (given,), (given,), (0,))


@pytest.mark.parametrize("framework", DIFFERENTIATING)
def test_a_script_repeats_a_wrong_gradient(framework, tmp_path, capsys):
    path = tmp_path / "stopped.py"
    path.write_text(HEADS[framework] + LAYER_NORM[framework])
    report = check(str(path), laws=("layer_norm_backward.grad_x",), tier="quick", diagnosis=False)
    result = next(result for result in report.results if result.counterexample)
    exec(reproduce(str(path), framework, result.counterexample, law=result.law.id), {})
    expected, got = capsys.readouterr().out.splitlines()
    assert expected.startswith("expected") and got.startswith("got") and expected[9:] != got[9:]


@pytest.mark.parametrize("framework", HEADS)
def test_a_script_repeats_the_violation(framework, tmp_path, capsys):
    path = written(tmp_path, framework, axis=0)
    report = check(path, laws=("softmax.value",), tier="quick", diagnosis=False)
    result = next(result for result in report.results if result.counterexample)
    exec(reproduce(path, framework, result.counterexample, law=result.law.id), {})
    expected, got = capsys.readouterr().out.splitlines()
    assert expected.startswith("expected") and got.startswith("got") and expected[9:] != got[9:]


@pytest.mark.parametrize("framework", HEADS)
def test_the_framework_is_found_where_none_is_declared(framework, tmp_path):
    path = tmp_path / "undeclared.py"
    path.write_text(HEADS[framework].replace("framework =", "library =") + SOFTMAX[framework].format(axis=-1))
    implementation = load(str(path))
    assert implementation.framework.name == framework
    result = prepare(implementation, "softmax", {"x": np.ones((2, 3))}, dtype="float32").run()
    assert np.allclose(result.value, 1 / 3)
    assert not any("add framework" in notice for notice in implementation.notices)


@pytest.mark.parametrize("framework", HEADS)
def test_what_a_framework_calls_dtypes_declares_none(framework):
    found = load(SimpleNamespace(framework=framework, dtypes=("float32", "float16"), softmax=lambda x: x))
    assert found.dtypes == ("float32", "float16")
    if framework == "tinygrad":
        dtypes = pytest.importorskip("tinygrad").dtypes
        assert load(SimpleNamespace(framework=framework, dtypes=dtypes, softmax=lambda x: x)).dtypes == ("float32",)


@pytest.mark.parametrize("framework", ["mlx", "tinygrad"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_arrays_that_change_are_written_over(framework, shape):
    arrays = load(SimpleNamespace(framework=framework, softmax=lambda x: x)).framework
    first, second = (arrays.from_numpy(np.full(shape, value), "float32") for value in (1.0, 2.0))
    arrays.overwrite(first, second)
    assert np.array_equal(arrays.to_numpy(first), np.full(shape, 2.0))
