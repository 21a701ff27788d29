"""Backward passes as people write them: right ones hold, wrong ones are judged, others are named with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import Report, check

BY_ARGUMENTS = """
import numpy as np


def rmsnorm(x, weight, eps=1e-6):
    r = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return x / r * weight


def rmsnorm_backward(dout, x, weight, eps=1e-6):
    n = x.shape[-1]
    r = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    xhat = x / r
    dw = (dout * xhat).reshape(-1, n).sum(0)
    dxhat = dout * weight
    dx = (dxhat - xhat * (dxhat * xhat).mean(-1, keepdims=True)) / r
    return dx, dw


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(dprobs, probs):
    return probs * (dprobs - (dprobs * probs).sum(-1, keepdims=True))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_backward(dout, x):
    c = np.sqrt(2 / np.pi)
    t = np.tanh(c * (x + 0.044715 * x**3))
    return dout * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))
"""
STATIC = """
import numpy as np

eps = 1e-5


class LayerNorm:
    @staticmethod
    def forward(x, w, b):
        B, T, C = x.shape
        mean = x.sum(-1, keepdims=True) / C
        xshift = x - mean
        var = (xshift**2).sum(-1, keepdims=True) / C
        rstd = (var + eps) ** -0.5
        norm = xshift * rstd
        out = norm * w + b
        cache = (x, w, mean, rstd)
        return out, cache

    @staticmethod
    def backward(dout, cache):
        x, w, mean, rstd = cache
        norm = (x - mean) * rstd
        db = dout.sum((0, 1))
        dw = (dout * norm).sum((0, 1))
        dnorm = dout * w
        dx = dnorm - dnorm.mean(-1, keepdims=True) - norm * (dnorm * norm).mean(-1, keepdims=True)
        dx *= rstd
        return dx, dw, db
"""
LOSS = """
import numpy as np


def softmax_loss(x, y):
    shifted = x - x.max(axis=1, keepdims=True)
    Z = np.exp(shifted).sum(axis=1, keepdims=True)
    log_probs = shifted - np.log(Z)
    N = x.shape[0]
    loss = -log_probs[np.arange(N), y].sum() / N
    dx = np.exp(log_probs)
    dx[np.arange(N), y] -= 1
    dx /= N
    return loss, dx
"""
OF_PROBABILITIES = """
import numpy as np


def attn_backward(dout, q, k, v, probs):
    scale = 1 / np.sqrt(q.shape[-1])
    dv = np.swapaxes(probs, -1, -2) @ dout
    dp = dout @ np.swapaxes(v, -1, -2)
    ds = probs * (dp - (dp * probs).sum(-1, keepdims=True))
    return ds @ k * scale, np.swapaxes(ds, -1, -2) @ q * scale, dv
"""
INSTANCES = """
import numpy as np


class Softmax:
    def forward(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        self.out = e / e.sum(axis=-1, keepdims=True)
        return self.out

    def backward(self, dout):
        return self.out * (dout - (dout * self.out).sum(axis=-1, keepdims=True))


class GELU:
    def forward(self, x):
        self.x = x
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def backward(self, dout):
        x, c = self.x, np.sqrt(2 / np.pi)
        t = np.tanh(c * (x + 0.044715 * x**3))
        return dout * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))


class LayerNorm:
    def __init__(self, dim, eps=1e-5):
        self.gamma = np.ones(dim)
        self.beta = np.zeros(dim)
        self.eps = eps

    def forward(self, x):
        self.mean = x.mean(-1, keepdims=True)
        self.std = np.sqrt(x.var(-1, keepdims=True) + self.eps)
        self.xhat = (x - self.mean) / self.std
        self.cache = x
        return self.gamma * self.xhat + self.beta

    def backward(self, dout):
        axes = tuple(range(dout.ndim - 1))
        self.dgamma = (dout * self.xhat).sum(axes)
        self.dbeta = dout.sum(axes)
        g = dout * self.gamma
        return (g - g.mean(-1, keepdims=True) - self.xhat * (g * self.xhat).mean(-1, keepdims=True)) / self.std
"""
ATTENTION = """
import numpy as np


def attention_forward(q, k, v, causal=False):
    scale = q.shape[-1] ** -0.5
    s = scale * q @ np.swapaxes(k, -1, -2)
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    return p @ v, (q, k, v, p, scale)


def attention_backward(dout, cache):
    q, k, v, p, scale = cache
    dv = np.swapaxes(p, -1, -2) @ dout
    dp = dout @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    return scale * ds @ k, scale * np.swapaxes(ds, -1, -2) @ q, dv
"""
LAYER_NORM = """
import numpy as np


def layernorm_forward(x, gamma, beta, ln_param):
    eps = ln_param.get("eps", 1e-5)
    mu = x.mean(axis=1, keepdims=True)
    std = np.sqrt(x.var(axis=1, keepdims=True) + eps)
    xhat = (x - mu) / std
    return gamma * xhat + beta, (xhat, std, gamma)


def layernorm_backward(dout, cache):
    xhat, std, gamma = cache
    dgamma = (dout * xhat).sum(axis=0)
    dbeta = dout.sum(axis=0)
    d = dout * gamma
    dx = (d - d.mean(1, keepdims=True) - xhat * (d * xhat).mean(1, keepdims=True)) / std
    return dx, dgamma, dbeta
"""
OBJECTS_WITHOUT_WEIGHTS = """
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class ScaledDotProductAttention:
    def forward(self, q, k, v):
        self.q, self.k, self.v = q, k, v
        self.a = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        return self.a @ v

    def backward(self, dout):
        dv = self.a.swapaxes(-1, -2) @ dout
        da = dout @ self.v.swapaxes(-1, -2)
        ds = self.a * (da - (da * self.a).sum(-1, keepdims=True)) / np.sqrt(self.q.shape[-1])
        return ds @ self.k, ds.swapaxes(-1, -2) @ self.q, dv


class CrossEntropyLoss:
    def forward(self, logits, targets):
        self.p = softmax(logits)
        self.t = targets
        n = targets.shape[0]
        z = logits - logits.max(-1, keepdims=True)
        return (np.log(np.exp(z).sum(-1)) - z[np.arange(n), targets]).mean()

    def backward(self):
        n = self.t.shape[0]
        d = self.p.copy()
        d[np.arange(n), self.t] -= 1
        return d / n
"""
_ATTENTION = "scaled_dot_product_attention"
RIGHT = {
    "arguments": (BY_ARGUMENTS, {"softmax_backward", "gelu_backward", "rms_norm_backward"}),
    "static": (STATIC, {"layer_norm", "layer_norm_backward"}),
    "loss": (LOSS, {"cross_entropy", "cross_entropy_backward"}),
    "probabilities": (OF_PROBABILITIES, {f"{_ATTENTION}_backward"}),
    "instances": (INSTANCES, {"softmax_backward", "gelu_backward", "layer_norm_backward"}),
    "attention": (ATTENTION, {_ATTENTION, f"{_ATTENTION}_backward"}),
    "layer norm": (LAYER_NORM, {"layer_norm", "layer_norm_backward"}),
    "objects without weights": (
        OBJECTS_WITHOUT_WEIGHTS,
        {_ATTENTION, f"{_ATTENTION}_backward", "cross_entropy", "cross_entropy_backward"},
    ),
    "gradients in another order": (
        LAYER_NORM.replace("return dx, dgamma, dbeta", "return dgamma, dbeta, dx"),
        {"layer_norm_backward"},
    ),
}
WRONG = {
    "softmax over rows": (BY_ARGUMENTS, "(dprobs * probs).sum(-1", "(dprobs * probs).sum(0", "softmax_backward"),
    "gelu": (BY_ARGUMENTS, "(1 + 3 * 0.044715", "(1 + 2 * 0.044715", "gelu_backward"),
    "norm of sums": (BY_ARGUMENTS, "(dxhat * xhat).mean(", "(dxhat * xhat).sum(", "rms_norm_backward"),
    "without the mean": (STATIC, " - dnorm.mean(-1, keepdims=True)", "", "layer_norm_backward"),
    "sum for mean": (LOSS, "    dx /= N\n", "", "cross_entropy_backward"),
    "guessed probabilities": (OF_PROBABILITIES, "(dp * probs).sum(-1", "(dp * probs).sum(-2", f"{_ATTENTION}_backward"),
    "of an object": (INSTANCES, "(dout * self.out).sum(axis=-1", "(dout * self.out).mean(axis=-1", "softmax_backward"),
    "of a loss": (OBJECTS_WITHOUT_WEIGHTS, "return d / n", "return d", "cross_entropy_backward"),
    "attention without scale": (
        ATTENTION,
        "return scale * ds @ k, scale *",
        "return ds @ k,",
        f"{_ATTENTION}_backward",
    ),
    "layer norm without gain": (LAYER_NORM, "d = dout * gamma", "d = dout", "layer_norm_backward"),
}


def _file(tmp_path: Path, text: str) -> str:
    file = tmp_path / "theirs.py"
    file.write_text(text, encoding="utf-8")
    return str(file)


def _operations(report: Report, *statuses: str) -> set[str]:
    return {one.law.operation.name for one in report.results if one.status in statuses}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_backward_pass_holds(tmp_path: Path, case: str) -> None:
    text, operations = RIGHT[case]
    report = check(_file(tmp_path, text), tier="quick")
    assert operations <= _operations(report, "passed")
    assert not _operations(report, "failed", "error")


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_backward_pass_is_judged(tmp_path: Path, case: str) -> None:
    text, right, wrong, operation = WRONG[case]
    assert text.count(right) == 1
    report = check(_file(tmp_path, text.replace(right, wrong)), tier="quick")
    assert _operations(report, "failed") == {operation}


def test_a_backward_pass_waits_for_its_forward_function(tmp_path: Path) -> None:
    wrong = ATTENTION.replace("scale = q.shape[-1] ** -0.5", "scale = 1.0")
    found = load(_file(tmp_path, wrong))
    assert list(found.operations) == [_ATTENTION]
    assert "judged once attention_forward is" in found.not_judged["attention_backward"]


def test_a_cache_that_nothing_returns_is_named(tmp_path: Path) -> None:
    alone = ATTENTION[ATTENTION.index("def attention_backward") :]
    text = f"import numpy as np\n\n\ndef softmax(x):\n    return np.exp(x)\n\n\n{alone}"
    found = load(_file(tmp_path, text))
    assert "takes a cache" in found.not_judged["attention_backward"]


def test_a_jacobian_of_one_vector_is_handed_the_output(tmp_path: Path) -> None:
    text = """
import numpy as np


def softmax_grad(dout, s):
    return (np.diag(s) - np.outer(s, s)) @ dout
"""
    report = check(_file(tmp_path, text), tier="quick")
    assert _operations(report, "passed") == {"softmax_backward"}
    assert not _operations(report, "failed", "error")


def test_a_backward_pass_of_the_interface_stays_as_it_is(tmp_path: Path) -> None:
    text = "def gelu_backward(x, grad_output):\n    return x * grad_output\n"
    assert not load(_file(tmp_path, text)).taken_as


OF_TORCH = """
import torch


def rmsnorm_forward(x, g, eps=1e-6):
    rstd = (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    return x * rstd * g, (x, g, rstd)


def rmsnorm_backward(dy, cache):
    x, g, rstd = cache
    part = dy * g
    dot = (part * x).{reduced}(-1, keepdim=True)
    return rstd * part - rstd**3 * dot * x, (dy * x * rstd).reshape(-1, x.shape[-1]).sum(0)
"""


@pytest.mark.parametrize(("reduced", "verdict"), (("mean", "conforms"), ("sum", "violates")))
def test_a_backward_pass_is_not_replaced_by_what_the_framework_derives(
    tmp_path: Path, reduced: str, verdict: str
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(OF_TORCH.format(reduced=reduced))
    assert load(str(tmp_path / "mine.py")).derived == {}
    report = check(str(tmp_path / "mine.py"), tier="quick")
    assert report.verdict == verdict
    if reduced == "sum":
        named = {suspect.mistakes for one in report.diagnoses for suspect in one.suspects}
        assert ("norm_backward_sum_for_mean",) in named


APPLIED = """
import torch


def rmsnorm_backward(dy, x, g, eps=1e-6):
    rstd = (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    part = dy * g
    dot = (part * x).mean(-1, keepdim=True)
    return rstd * part - rstd**3 * dot * x, (dy * x * rstd).reshape(-1, x.shape[-1]).sum(0)


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g, eps):
        rstd = (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward({kept}, g)
        ctx.eps = eps
        return x * rstd * g

    @staticmethod
    def backward(ctx, dy):
        x, g = ctx.saved_tensors
        return (*rmsnorm_backward(dy, x, g, ctx.eps), None)


def rmsnorm(x, g, eps=1e-6):
    return Norm.apply(x, g, eps)
"""


@pytest.mark.parametrize(("kept", "verdict"), (("x", "conforms"), ("x * rstd", "violates")))
def test_what_a_backward_pass_is_handed_is_judged_with_it(tmp_path: Path, kept: str, verdict: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(APPLIED.format(kept=kept))
    assert "rms_norm_backward" in load(str(tmp_path / "mine.py")).derived
    assert check(str(tmp_path / "mine.py"), tier="quick", diagnosis=False).verdict == verdict
