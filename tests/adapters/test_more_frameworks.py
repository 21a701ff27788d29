"""Programs on TensorFlow, MLX and tinygrad: right ones conform, and the mistakes of wrong ones are named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import WrongFramework
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


@pytest.mark.parametrize("framework", HEADS)
def test_a_script_repeats_the_violation(framework, tmp_path, capsys):
    path = written(tmp_path, framework, axis=0)
    report = check(path, laws=("softmax.value",), tier="quick", diagnosis=False)
    result = next(result for result in report.results if result.counterexample)
    exec(reproduce(path, framework, result.counterexample, law=result.law.id), {})
    expected, got = capsys.readouterr().out.splitlines()
    assert expected.startswith("expected") and got.startswith("got") and expected[9:] != got[9:]


@pytest.mark.parametrize("framework", HEADS)
def test_the_framework_to_declare_is_said(framework, tmp_path):
    path = tmp_path / "undeclared.py"
    path.write_text(HEADS[framework].replace("framework =", "library =") + SOFTMAX[framework].format(axis=-1))
    implementation = load(str(path))
    if framework != "tensorflow":  # which takes NumPy's arrays too
        with pytest.raises(WrongFramework, match=f'set framework = "{framework}"'):
            prepare(implementation, "softmax", {"x": np.ones((2, 3))}, dtype="float32").run()
    assert any(f'add framework = "{framework}"' in notice for notice in implementation.notices)


@pytest.mark.parametrize("framework", HEADS)
def test_what_a_framework_calls_dtypes_declares_none(framework):
    found = load(SimpleNamespace(framework=framework, dtypes=("float32", "float16"), softmax=lambda x: x))
    assert found.dtypes == ("float32", "float16")
    if framework == "tinygrad":
        dtypes = pytest.importorskip("tinygrad").dtypes
        assert load(SimpleNamespace(framework=framework, dtypes=dtypes, softmax=lambda x: x)).dtypes == ("float32",)


@pytest.mark.parametrize("framework", ["mlx", "tinygrad"])
def test_arrays_that_change_are_written_over(framework):
    arrays = load(SimpleNamespace(framework=framework, softmax=lambda x: x)).framework
    first, second = (arrays.from_numpy(np.full(3, value), "float32") for value in (1.0, 2.0))
    arrays.overwrite(first, second)
    assert arrays.to_numpy(first).tolist() == [2.0, 2.0, 2.0]
