"""Optimizers, clipping and schedules of other signatures: right ones hold, wrong ones are judged by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.conformance_tests import check

OF_STATES = """
import numpy as np


def adamw_init(params):
    return {"m": {k: np.zeros_like(p) for k, p in params.items()},
            "v": {k: np.zeros_like(p) for k, p in params.items()}, "t": 0}


def adamw(params, grads, state, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    state["t"] += 1
    t = state["t"]
    for k in params:
        g = grads[k]
        state["m"][k] = beta1 * state["m"][k] + (1 - beta1) * g
        state["v"][k] = beta2 * state["v"][k] + (1 - beta2) * g * g
        m, v = state["m"][k] / (1 - beta1 ** t), state["v"][k] / (1 - beta2 ** t)
        params[k] = params[k] - lr * (m / (np.sqrt(v) + eps) + weight_decay * params[k])
    return params, state
"""
OF_MOMENTS = """
import jax.numpy as jnp


def adamw_step(param, grad, m, v, t, lr, betas=(0.9, 0.99), eps=1e-8, wd=0.1):
    b1, b2 = betas
    m, v = b1 * m + (1 - b1) * grad, b2 * v + (1 - b2) * grad**2
    step = lr * (m / (1 - b1 ** (t + 1))) / (jnp.sqrt(v / (1 - b2 ** (t + 1))) + eps)
    return param * (1 - lr * wd) - step, m, v
"""
OF_TORCH = """
import torch


class MyAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                state["exp_avg"].mul_(b1).add_(p.grad, alpha=1 - b1)
                state["exp_avg_sq"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                root = (state["exp_avg_sq"] / (1 - b2 ** state["step"])).sqrt()
                p.add_(state["exp_avg"] / (1 - b1 ** state["step"]) / (root + group["eps"]), alpha=-group["lr"])
"""
PLAIN_ADAM = """
import numpy as np


class Adam:
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0):
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay
        self.t, self.m, self.v = 0, None, None

    def step(self, params, grads):
        if self.m is None:
            self.m, self.v = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params]
        self.t += 1
        for i, (p, g) in enumerate(zip(params, grads)):
            g = g + self.weight_decay * p
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g**2
            root = np.sqrt(self.v[i] / (1 - self.beta2**self.t))
            p -= self.lr * self.m[i] / (1 - self.beta1**self.t) / (root + self.eps)
"""
CLIPPING = """
import numpy as np


def clip_gradients(grads, max_norm):
    norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
    if norm > max_norm:
        for name in grads:
            grads[name] = grads[name] * (max_norm / norm)
    return norm
"""
IN_PLACE = """
import torch


def clip_grad_norm_(parameters, max_norm):
    total = torch.sqrt(sum(p.grad.pow(2).sum() for p in parameters))
    scale = torch.clamp(max_norm / (total + 1e-6), max=1.0)
    for p in parameters:
        p.grad.mul_(scale)
    return total
"""
OF_A_COURSE = """
import math

import torch


def gradient_clipping(parameters, max_l2_norm, eps=1e-6):
    grads = [p.grad for p in parameters if p.grad is not None]
    total = math.sqrt(sum(float(g.pow(2).sum()) for g in grads))
    if total > max_l2_norm:
        for g in grads:
            g.mul_(max_l2_norm / (total + eps))


def get_lr_cosine_schedule(it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters):
    if it < warmup_iters:
        return max_learning_rate * it / warmup_iters
    if it > cosine_cycle_iters:
        return min_learning_rate
    share = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_learning_rate + 0.5 * (1 + math.cos(math.pi * share)) * (max_learning_rate - min_learning_rate)
"""
OF_TREES = """
import jax
import jax.numpy as jnp


def clip_grads(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, max_norm / norm), grads), norm
"""
NOAM = """
def noam(step, d_model=512, warmup=4000):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
"""
CONSTANTS = """
import math

max_lr, min_lr, warmup_steps, max_steps = 6e-4, 6e-5, 10, 50


def get_lr(it):
    if it < warmup_steps:
        return max_lr * it / warmup_steps
    if it > max_steps:
        return min_lr
    share = (it - warmup_steps) / (max_steps - warmup_steps)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * share)) * (max_lr - min_lr)
"""
MULTIPLIER = """
import math


def lr_lambda(step, warmup_steps, total_steps):
    if step < warmup_steps:
        return step / max(1, warmup_steps)
    share = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return 0.1 + 0.9 * 0.5 * (1.0 + math.cos(math.pi * share))
"""
PAIRS = [
    ("numpy", OF_STATES, (" + weight_decay * params[k])", ") + weight_decay * params[k]"), "adamw_step"),
    ("jax", OF_MOMENTS, ("m / (1 - b1 ** (t + 1))", "m"), "adamw_step"),
    ("torch", OF_TORCH, ('(1 - group["lr"] * group', "(1 - group"), "adamw_step"),
    ("numpy", PLAIN_ADAM, ("(1 - self.beta2) * g**2", "(1 - self.beta2) * g"), "adamw_step"),
    ("numpy", CLIPPING, ("(g**2).sum()", "np.abs(g).sum()"), "clip_by_global_norm"),
    ("torch", IN_PLACE, (", max=1.0", ", min=1.0"), "clip_by_global_norm"),
    ("torch", OF_A_COURSE, ("math.sqrt(sum(float(g.pow(2)", "(sum(float(g.abs()"), "clip_by_global_norm"),
    ("torch", OF_A_COURSE, ("1 + math.cos", "1 - math.cos"), "warmup_cosine_learning_rate"),
    ("jax", OF_TREES, ("jnp.minimum(1.0, max_norm / norm)", "max_norm / norm"), "clip_by_global_norm"),
    ("numpy", NOAM, ("min(step", "max(step"), "warmup_inverse_root_learning_rate"),
    ("numpy", CONSTANTS, ("share = (it - warmup_steps)", "share = it"), "warmup_cosine_learning_rate"),
    ("numpy", MULTIPLIER, ("(step - warmup_steps) / (total_steps - warmup_steps)", "step / total_steps"), None),
]


def report_on(folder: Path, text: str):
    (folder / "mine.py").write_text(text)
    return check(str(folder / "mine.py"), tier="quick")


@pytest.mark.parametrize(("framework", "text", "wrong", "operation"), PAIRS)
def test_a_right_one_holds_and_a_wrong_one_does_not(tmp_path, framework, text, wrong, operation):
    pytest.importorskip(framework)
    right = report_on(tmp_path, text)
    assert right.verdict == "conforms", right.headline
    assert right.taken_as
    broken = report_on(tmp_path, text.replace(*wrong))
    assert broken.verdict == "violates"
    assert operation is None or operation in broken.taken_as.values()


EPS_BEFORE = OF_MOMENTS.replace("jnp.sqrt(v / (1 - b2 ** (t + 1))) + eps", "jnp.sqrt(v) + eps").replace(
    "step = lr * ", "step = lr * jnp.sqrt(1 - b2 ** (t + 1)) * "
)
SHARES_KEPT = PLAIN_ADAM.replace("self.t, self.m, self.v = 0", "self.p2, self.t, self.m, self.v = 1.0, 0").replace(
    "        self.t += 1\n", "        self.t += 1\n        self.p2 *= self.beta2\n"
)
SHARES_KEPT = SHARES_KEPT.replace("self.beta2**self.t)", "self.p2)")
OWN_WARMUP = CONSTANTS.replace("max_lr * it / warmup_steps", "max_lr * (it / warmup_steps) ** 2")


@pytest.mark.parametrize("text", [EPS_BEFORE, SHARES_KEPT, OWN_WARMUP], ids=["eps before", "kept shares", "warm-up"])
def test_what_is_right_in_another_way_is_not_accused(tmp_path, text):
    pytest.importorskip("jax")
    softmax = (
        "\n\ndef softmax(x):\n    e = np.exp(x - x.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)\n"
    )
    report = report_on(tmp_path, f"import numpy as np\n{text}{softmax}")
    assert report.verdict == "conforms"
    assert report.not_judged


OF_STATES_AND_COUNTS = """
import numpy as np


def init_state(params):
    return {k: dict(m=np.zeros_like(p), v=np.zeros_like(p)) for k, p in params.items()}


def adamw_step(params, grads, state, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    for name, p in params.items():
        g, st = grads[name], state[name]
        st["m"] = betas[0] * st["m"] + (1 - betas[0]) * g
        st["v"] = betas[1] * st["v"] + (1 - betas[1]) * g**2
        root = np.sqrt(st["v"] / (1 - betas[1] ** t)) + eps
        p -= lr * (st["m"] / (1 - betas[0] ** t) / root + weight_decay * p)
    return params, state
"""


def test_a_state_of_each_parameter_and_a_count_from_outside(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for text, status in ((OF_STATES_AND_COUNTS, 0), (OF_STATES_AND_COUNTS.replace("* g**2", "* g"), 1)):
        file.write_text(text)
        report = check(str(file), tier="quick")
        assert report.exit_status == status and report.counts["passed"] > 5
