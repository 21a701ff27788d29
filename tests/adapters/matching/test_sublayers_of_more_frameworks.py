"""Attention and networks written as classes of Keras, MLX and tinygrad: judged with weights of the laws' own."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

MLX_GATED = """
import mlx.core as mx
import mlx.nn as nn


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def __call__(self, x):
        return self.w2(nn.silu(self.w1(x)) * self.w3(x))
"""
MLX_ATTENTION = """
import mlx.core as mx
import mlx.nn as nn


class Attention(nn.Module):
    def __init__(self, dims, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        width = dims // n_heads
        self.scale = width**-0.5
        self.wq = nn.Linear(dims, n_heads * width, bias=False)
        self.wk = nn.Linear(dims, n_kv_heads * width, bias=False)
        self.wv = nn.Linear(dims, n_kv_heads * width, bias=False)
        self.wo = nn.Linear(n_heads * width, dims, bias=False)
        self.rope = nn.RoPE(width)

    def __call__(self, x, mask=None):
        B, L, _ = x.shape
        q = self.rope(self.wq(x).reshape(B, L, self.n_heads, -1).transpose(0, 2, 1, 3))
        k = self.rope(self.wk(x).reshape(B, L, self.n_kv_heads, -1).transpose(0, 2, 1, 3))
        v = self.wv(x).reshape(B, L, self.n_kv_heads, -1).transpose(0, 2, 1, 3)
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=self.scale, mask=mask)
        return self.wo(y.transpose(0, 2, 1, 3).reshape(B, L, -1))


class Block(nn.Module):
    def __init__(self, dims, n_heads, n_kv_heads):
        super().__init__()
        self.attention = Attention(dims, n_heads, n_kv_heads)
        self.norm = nn.RMSNorm(dims)

    def __call__(self, x):
        return x + self.attention(self.norm(x))
"""
KERAS_ATTENTION = """
import tensorflow as tf


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.depth, self.d_model = num_heads, d_model // num_heads, d_model
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def split(self, x):
        return tf.transpose(tf.reshape(x, (tf.shape(x)[0], -1, self.num_heads, self.depth)), [0, 2, 1, 3])

    @tf.function
    def call(self, v, k, q, mask=None):
        q, k, v = self.split(self.wq(q)), self.split(self.wk(k)), self.split(self.wv(v))
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / self.depth**0.5, axis=-1)
        out = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
        return self.dense(tf.reshape(out, (tf.shape(out)[0], -1, self.d_model))), weights
"""
KERAS_NETWORK = """
import tensorflow as tf


class FeedForward(tf.keras.layers.Layer):
    def __init__(self, d_model, dff, rate=0.1):
        super().__init__()
        self.network = tf.keras.Sequential(
            [tf.keras.layers.Dense(dff, activation="relu"), tf.keras.layers.Dense(d_model)]
        )
        self.dropout = tf.keras.layers.Dropout(rate)

    def call(self, x, training=False):
        return self.dropout(self.network(x), training=training)
"""
KERAS_NORM = '''
import tensorflow as tf


class LayerNorm(tf.keras.layers.Layer):
    """Normalise the vectors of (batch, time, channels)."""

    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def build(self, shape):
        self.gamma = self.add_weight(name="gamma", shape=(shape[-1],), initializer="ones")
        self.beta = self.add_weight(name="beta", shape=(shape[-1],), initializer="zeros")

    def call(self, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + self.eps) * self.gamma + self.beta
'''
TINY_ATTENTION = """
from dataclasses import dataclass

from tinygrad import Tensor, nn


@dataclass
class Config:
    block_size: int = 32
    n_head: int = 2
    n_embd: int = 8


class CausalSelfAttention:
    def __init__(self, config: Config):
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.hidden = Tensor.ones(1, 1, config.block_size, config.block_size).triu(1)

    def __call__(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = [t.reshape(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v)]
        logits = (q @ k.transpose(-2, -1)) * (C // self.n_head) ** -0.5
        logits = logits.masked_fill(self.hidden[:, :, :T, :T] == 1, float("-inf"))
        return self.c_proj((logits.softmax() @ v).transpose(1, 2).reshape(B, T, C))
"""
TINY_NETWORK = """
from tinygrad import nn


class MLP:
    def __init__(self, dim, hidden_dim):
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, dim)

    def __call__(self, x):
        return self.fc2(self.fc1(x).relu())
"""
ATTENTION, NETWORK, GATED = "multi_head_attention", "feed_forward", "gated_feed_forward"
# The program, the framework, its class, the operation, a law, and a mistake: what stands there, and what instead.
PROGRAMS = {
    "mlx gated": (MLX_GATED, "mlx", "FeedForward", GATED, "gated_feed_forward.value", "nn.silu(", "mx.sigmoid("),
    "mlx attention": (
        MLX_ATTENTION,
        "mlx",
        "Attention",
        ATTENTION,
        "multi_head.scale",
        "width**-0.5",
        "width**-1.0",
    ),
    "keras attention": (
        KERAS_ATTENTION,
        "tensorflow",
        "MultiHeadAttention",
        ATTENTION,
        "multi_head.scale",
        "axis=-1",
        "axis=-2",
    ),
    "keras network": (
        KERAS_NETWORK,
        "tensorflow",
        "FeedForward",
        NETWORK,
        "feed_forward.value",
        '"relu"',
        '"tanh"',
    ),
    "keras norm": (KERAS_NORM, "tensorflow", "LayerNorm", "layer_norm", "layer_norm.value", "axes=[-1]", "axes=[1]"),
    "tinygrad attention": (
        TINY_ATTENTION,
        "tinygrad",
        "CausalSelfAttention",
        ATTENTION,
        "multi_head.scale",
        "triu(1)",
        "triu(2)",
    ),
    "tinygrad network": (TINY_NETWORK, "tinygrad", "MLP", NETWORK, "feed_forward.value", ".relu()", ".abs()"),
}


def written(folder: Path, text: str) -> str:
    path = folder / "stranger.py"
    path.write_text(text)
    return str(path)


@pytest.fixture(autouse=True)
def on_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("is_right", [True, False])
def test_a_class_is_judged_as_its_operation(name, is_right, tmp_path):
    text, framework, kind, operation, law, right, wrong = PROGRAMS[name]
    pytest.importorskip(framework)
    assert text.count(right) == 1
    path = written(tmp_path, text if is_right else text.replace(right, wrong))
    report = check(path, laws=[law], tier="quick", isolate=True)
    assert report.taken_as[kind] == operation
    assert [one.status for one in report.results] == ["passed" if is_right else "failed"]


@pytest.mark.parametrize("name", ["mlx gated", "keras attention"])
def test_gradients_reach_the_weights(name, tmp_path):
    text, framework, _, operation, *_ = PROGRAMS[name]
    pytest.importorskip(framework)
    report = check(written(tmp_path, text), operations=[f"{operation}_backward"], tier="quick", isolate=True)
    tried = {one.status for one in report.results}
    assert "passed" in tried
    assert tried <= {"passed", "not_declared"}


NEEDY = MLX_ATTENTION.partition("class Block")[0].replace("x, mask=None", "x, positions, cache")
UNKNOWN = MLX_GATED.replace("dim, hidden_dim):", "dim, hidden_dim, flavour):")
NORMED = MLX_ATTENTION.partition("class Block")[0].replace(
    "self.rope = ", "self.q_norm = nn.RMSNorm(width)\n        self.rope = "
)
ADDING = MLX_GATED.replace("return self.w2", "return x + self.w2")
REMEMBERING = MLX_GATED.replace(
    "        return",
    "        self.calls = getattr(self, 'calls', 0) + 1\n        x = x + self.calls\n        return",
)
TURNING = MLX_ATTENTION.partition("class Block")[0].replace("nn.RoPE(width)", "1.5").replace("self.rope(", "rotary(")
TURNING = TURNING.replace("rotary(", "rotate(")
TURNING += "\n\ndef rotate(x):\n    return x * mx.cos(mx.arange(x.shape[2], dtype=mx.float32))[:, None]\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NEEDY, "Attention: its call needs `positions` and `cache`"),
        (UNKNOWN, "FeedForward: nothing says what to build it with as `flavour`"),
        (NORMED, "Attention: `q_norm.weight` (6,) is none of its weights"),
        (ADDING, "FeedForward: it adds its input to its result"),
        (REMEMBERING, "FeedForward: its result depends on the calls before it"),
        (TURNING, "its code has `rope`, which may be more than the operation"),
    ],
)
def test_what_would_be_a_guess_is_not_judged_and_the_reason_said(text, reason, tmp_path):
    pytest.importorskip("mlx")
    with pytest.raises(LoadError) as caught:
        load(written(tmp_path, text))
    assert reason in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 400


def test_a_block_is_named_and_its_attention_judged(tmp_path):
    pytest.importorskip("mlx")
    found = load(written(tmp_path, MLX_ATTENTION))
    assert dict(found.taken_as) == {"Attention": ATTENTION}
    assert "without its `rope`" in found.notices[0]
    assert "more than one operation" in found.not_judged["Block"]


def test_a_class_that_is_named_is_judged(tmp_path):
    pytest.importorskip("mlx")
    assert dict(load(f"{written(tmp_path, MLX_GATED)}:FeedForward").taken_as) == {"FeedForward": GATED}


def test_other_sizes_than_those_that_it_was_built_with_are_refused(tmp_path):
    mx = pytest.importorskip("mlx.core")
    found = load(written(tmp_path, MLX_GATED))
    assert found.fixed_for(GATED) == {"d_model": 24, "d_ff": 40, "activation": "silu"}
    from types import SimpleNamespace

    weights = SimpleNamespace(w_gate=mx.ones((8, 9)), w_up=mx.ones((8, 9)), w_down=mx.ones((9, 8)))
    with pytest.raises(ValueError, match="was built for vectors of 24"):
        found.operations[GATED](mx.ones((2, 8)), weights, activation="silu")
