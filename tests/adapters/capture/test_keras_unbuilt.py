"""A layer of Keras that has no weights yet gets them by a first call on inputs that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

FILE = '''
import keras
from keras import layers, ops


class Norm(layers.Layer):
    def __init__(self, epsilon=1e-6, **keywords):
        super().__init__(**keywords)
        self.epsilon = epsilon

    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + self.epsilon) * self.scale


class Attention(layers.Layer):
    """Call arguments: mask: (batch, length) with 1 for tokens and 0 for padding."""

    def __init__(self, d_model, num_heads, after=False, **keywords):
        super().__init__(**keywords)
        self.d_model, self.num_heads, self.after = d_model, num_heads, after
        self.norm = Norm(name="norm")
        self.query, self.key, self.value, self.out = (layers.Dense(d_model) for _ in range(4))

    def heads(self, x):
        shape = (ops.shape(x)[0], -1, self.num_heads, self.d_model // self.num_heads)
        return ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))

    def call(self, x, mask=None, training=None):
        y = self.norm(x)
        query, key, value = (self.heads(one(y)) for one in (self.query, self.key, self.value))
        logits = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / (self.d_model // self.num_heads) ** 0.5
        if mask is not None and not self.after:
            logits = ops.where(ops.cast(mask, "bool")[:, None, None, :], logits, -1e9)
        weights = ops.softmax(logits, axis=-1)
        if mask is not None and self.after:
            weights = weights * ops.cast(mask, weights.dtype)[:, None, None, :]
        mixed = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        return x + self.out(ops.reshape(mixed, ops.shape(x)))


class MasksBehindTheSoftmax(Attention):
    """Call arguments: mask: (batch, length) with 1 for tokens and 0 for padding."""

    def __init__(self, d_model, num_heads, **keywords):
        super().__init__(d_model, num_heads, after=True, **keywords)
'''

SCRIPT = """
import sys
from veriformer import check

report = check(sys.argv[1])
print(report.exit_status, [one.path for one in report.parts], sorted(one.law.id for one in report.broken))
"""


@pytest.mark.long
@pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")
@pytest.mark.parametrize("backend", ("torch", "jax"))
def test_layers_without_weights_are_judged(tmp_path, backend):
    (tmp_path / "layers_of_mine.py").write_text(FILE, encoding="utf-8")
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}

    def told(name):
        command = [sys.executable, "-c", SCRIPT, f"{tmp_path / 'layers_of_mine.py'}:{name}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()[-1]

    assert told("Norm").startswith("0 ")
    right = told("Attention")
    assert right.startswith("0 ") and "torch_params" not in right
    wrong = told("MasksBehindTheSoftmax")
    assert wrong.startswith("1 ") and "model.padding.content" in wrong


HANDED_OVER = """
import sys
import numpy as np
from veriformer import check
from layers_of_mine import Attention

report = check(Attention(48, 4), inputs=(np.random.default_rng(0).normal(size=(2, 7, 48)).astype("float32"),))
print(report.exit_status, [one.summary for one in report.parts])
"""


@pytest.mark.long
@pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")
@pytest.mark.parametrize("backend", ("torch", "jax"))
def test_inputs_that_are_handed_over_give_the_widths(tmp_path, backend):
    (tmp_path / "layers_of_mine.py").write_text(FILE, encoding="utf-8")
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", HANDED_OVER], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told = done.stdout.splitlines()[-1]
    assert told.startswith("0 ") and "4 heads" in told
