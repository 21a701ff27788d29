"""Functions whose kinds were accused, or not judged, in a sixteenth set of strangers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veriformer.conformance_tests.run.checking import check
from veriformer.conformance_tests.run.checking_models import check_model

# A cache of as many keys as the window says, filled in turn.
RING = '''
import torch


class Ring:
    def __init__(self, batch, heads, window, dim):
        self.keys, self.values = torch.zeros(batch, heads, window, dim), torch.zeros(batch, heads, window, dim)
        self.window, self.seen = window, 0

    def push(self, k, v):
        self.keys[:, :, self.seen % self.window], self.values[:, :, self.seen % self.window] = k, v
        self.seen += 1
        filled = min(self.seen, self.window)
        return self.keys[:, :, :filled], self.values[:, :, :filled]


def decode_all(q, k, v, window):
    """Causal attention of (batch, heads, time, dim), where token t sees t-window+1 .. t."""
    ring, results = Ring(q.shape[0], q.shape[1], window, q.shape[3]), []
    for t in range(q.shape[2]):
        keys, values = ring.push(k[:, :, t], v[:, :, t])
        weights = (keys @ q[:, :, t, :, None]).squeeze(-1) / q.shape[-1] ** 0.5
        results.append((weights.softmax(-1)[:, :, None] @ values).squeeze(-2))
    return torch.stack(results, dim=2)
'''
NEXT_TOKEN = """
import torch
import torch.nn.functional as F


def causal_lm_loss(logits, tokens, alpha=0.1, ignore=-100):
    logits, targets = logits[:, :-1], tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignore, label_smoothing=alpha)
"""
ADAM = """
import numpy as np


class AdamW:
    def __init__(self, params, betas=(0.9, 0.95), eps=1e-8, decay=0.1, max_norm=1.0):
        self.p, (self.b1, self.b2), self.eps, self.decay, self.max_norm = params, betas, eps, decay, max_norm
        self.m = {n: np.zeros_like(a) for n, a in params.items()}
        self.v = {n: np.zeros_like(a) for n, a in params.items()}
        self.t = 0

    def step(self, grads, lr):
        norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
        self.t += 1
        for n, g in grads.items():
            g = g * min(1.0, self.max_norm / norm)
            m, v, p = self.m[n], self.v[n], self.p[n]
            m *= self.b1
            m += (1 - self.b1) * g
            v *= self.b2
            v += (1 - self.b2) * g * g
            if p.ndim >= 2:
                p *= 1 - lr * self.decay
            p -= lr * (m / (1 - self.b1**self.t)) / (np.sqrt(v / (1 - self.b2**self.t)) + self.eps)
"""
LAYERS = """
import jax
import jax.numpy as jnp


def initLayer(key, E, F):
    ks = jax.random.split(key, 4)
    mk = lambda k, i, o: jax.random.normal(k, (i, o)) / jnp.sqrt(i)
    return {"qkv": mk(ks[0], E, 3 * E), "proj": mk(ks[1], E, E), "up": mk(ks[2], E, F), "down": mk(ks[3], F, E),
            "first": jnp.ones(E), "second": jnp.ones(E)}


def norm(x, gain):
    return gain * x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attend(x, p, nHeads):
    B, L, E = x.shape
    q, k, v = jnp.moveaxis((x @ p["qkv"]).reshape(B, L, 3, nHeads, -1), 2, 0)
    logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(E // nHeads)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits, -1), v).reshape(B, L, E) @ p["proj"]


def encoder(x, layers, nHeads):
    for p in layers:
        x = x + attend(norm(x, p["first"]), p, nHeads)
        x = x + jax.nn.relu(norm(x, p["second"]) @ p["up"]) @ p["down"]
    return x
"""


def report(tmp_path: Path, text: str, *changes: tuple[str, str], of: str = "") -> Any:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = tmp_path / "mine.py"
    file.write_text(text)
    return check_model(f"{file}:{of}") if of else check(str(file), tier="quick")


def test_a_window_is_no_wider_than_there_are_keys(tmp_path: Path) -> None:
    right = report(tmp_path, RING)
    assert right.exit_status == 0
    assert any("decode_all is judged as scaled_dot_product_attention" in one for one in right.notices)
    wrong = (("filled = min(self.seen, self.window)\n", "filled = min(self.seen + 1, self.window)\n"),)
    assert report(tmp_path, RING, *wrong).exit_status == 1


def test_smoothing_that_a_loss_of_next_tokens_has_by_itself_is_turned_off(tmp_path: Path) -> None:
    right = report(tmp_path, NEXT_TOKEN)
    assert right.exit_status == 0
    assert any("`alpha` is 0" in one for one in right.notices)
    assert report(tmp_path, NEXT_TOKEN, ("logits[:, :-1]", "logits[:, 1:]")).exit_status == 1


def test_an_optimizer_is_told_its_rate_at_each_step_and_clips_nothing(tmp_path: Path) -> None:
    right = report(tmp_path, ADAM)
    assert right.exit_status == 0
    assert any("AdamW is judged as adamw_step" in one and "nothing is clipped" in one for one in right.notices)
    assert report(tmp_path, ADAM, ("1 - self.b2**self.t", "1 - self.b1**self.t")).exit_status == 1


def test_a_stack_of_layers_gets_the_parameters_that_its_file_makes_for_one(tmp_path: Path) -> None:
    right = report(tmp_path, LAYERS, of="encoder")
    assert right.exit_status == 0
    assert {part.layer for part in right.recognition.parts} == {0, 1}
    wrong = report(tmp_path, LAYERS, ("jax.nn.softmax(logits, -1)", "jax.nn.softmax(logits, -2)"), of="encoder")
    assert {one.suspects[0].name for one in wrong.departures} == {"softmax_wrong_axis"}
