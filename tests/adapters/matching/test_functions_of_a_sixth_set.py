"""Functions as a sixth set of strangers has them: caches, dictionaries, names of models, other axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer import check

pytest.importorskip("torch")

GROUPED = '''
import torch

def gqa(xq, xk, xv, start_pos=0):
    """Causal grouped-query attention; (batch, length, heads, width)."""
    length, groups = xq.shape[1], xq.shape[2] // xk.shape[2]
    k, v = (one.transpose(1, 2).{repeated} for one in (xk, xv))
    scores = xq.transpose(1, 2) @ k.mT / xq.shape[-1] ** 0.5
    if length > 1:
        hidden = torch.ones(length, k.shape[2], dtype=bool).triu({diagonal})
        scores = scores.masked_fill(hidden, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
'''
EACH, TILED = "repeat_interleave(groups, 1)", "repeat(1, groups, 1, 1)"


def named(found: Any) -> set[tuple[str, ...]]:
    report = check(found, tier="quick")
    return {suspect.mistakes for one in report.diagnoses for suspect in one.suspects[:1]}


def test_the_first_query_is_told_its_position(loaded: Callable[..., Any]) -> None:
    found = loaded(GROUPED.format(repeated=EACH, diagonal="start_pos + 1"))
    assert "`start_pos`: the number of keys before the first query" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0


def test_heads_of_a_causal_attention_are_named_alone(loaded: Callable[..., Any]) -> None:
    assert named(loaded(GROUPED.format(repeated=TILED, diagonal="start_pos + 1"))) == {("gqa_head_index_wrong",)}


def test_a_scale_by_another_axis_is_no_attention_of_one_head(loaded: Callable[..., Any]) -> None:
    text = """
import torch

# B = batch, h = heads
def attention(query, key, value):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(1) ** 0.5
    return torch.matmul(scores.softmax(-1), value)
"""
    assert named(loaded(text)) == {("scale_by_wrong_axis",)}
    of_matrices = text.replace("    scores =", '    """query: (L, D)"""\n    scores =')
    assert check(loaded(of_matrices), tier="quick").exit_status == 0


GEMMA = '''
import torch

def gemma_attention(q, k, v, *, query_pre_attn_scalar, logit_softcap=50.0, sliding_window=None):
    """Causal attention.

    sliding_window: number of most recent tokens, the current one included.
    """
    groups = q.shape[1] // k.shape[1]
    k, v = (one.repeat_interleave(groups, 1) for one in (k, v))
    scores = (q * query_pre_attn_scalar**-0.5) @ k.mT
    if logit_softcap is not None:
        scores = torch.tanh(scores / logit_softcap) * logit_softcap
    row, column = torch.arange(q.shape[2])[:, None], torch.arange(q.shape[2])
    visible = column <= row
    if sliding_window is not None:
        visible &= column > row - sliding_window{more}
    return scores.masked_fill(~visible, -torch.inf).softmax(-1) @ v
'''


def test_an_attention_that_caps_by_default(loaded: Callable[..., Any]) -> None:
    assert check(loaded(GEMMA.format(more="")), tier="quick").exit_status == 0
    assert named(loaded(GEMMA.format(more=" - 1"))) == {("sliding_window_off_by_one",)}


@pytest.mark.parametrize("name", ("apply_rope_neox", "rope_gptj", "apply_rotary_llama"))
def test_rotations_with_the_name_of_a_model(loaded: Callable[..., Any], name: str) -> None:
    text = f"""
import torch

def {name}(x, positions, theta=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * theta ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()], -1)
"""
    assert named(loaded(text)) == {("rope_sign_flipped",)}


def test_an_operation_s_name_with_other_parameters_is_not_accused(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def softmax(x):
    return np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)

def encoder_layer(x, lengths, params, n_heads=4):
    return x
"""
    found = loaded(text)
    assert [*found.operations] == ["softmax"]
    assert found.not_judged["encoder_layer"].startswith("its parameters are others")


ADAMW = """
import torch

def adamw(p, g, state, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1):
    step = state["step"] + 1
    m = betas[0] * state["exp_avg"] + (1 - betas[0]) * g
    v = betas[1] * state["exp_avg_sq"] + (1 - betas[1]) * g * g
    denominator = {denominator}
    p = p * (1 - lr * weight_decay) - lr * m / (1 - betas[0] ** step) / denominator
    return p, dict(step=step, exp_avg=m, exp_avg_sq=v)
"""


def test_a_state_that_the_caller_begins(loaded: Callable[..., Any]) -> None:
    right = "(v / (1 - betas[1] ** step)).sqrt() + eps"
    found = loaded(ADAMW.format(denominator=right))
    assert "adamw_step" in found.operations
    assert check(found, tier="quick").exit_status == 0
    assert named(loaded(ADAMW.format(denominator="(v / (1 - betas[1] ** step) + eps).sqrt()")))


def test_a_norm_whose_gain_and_shift_come_in_a_dictionary(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def ln(p, x, eps=1e-6):
    x = x - x.mean({axes}keepdims=True)
    return p["scale"] * x / np.sqrt((x * x).mean({axes}keepdims=True) + eps) + p["bias"]
"""
    found = loaded(text.format(axes="-1, "))
    assert "`p`: a dictionary" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    # A mean over everything is no norm of one vector where its axes are kept.
    assert named(loaded(text.format(axes=""))) == {("layernorm_wrong_axis",)}


def test_a_single_query_of_one_head(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def attend(query, keys, values):
    count, width = keys.shape
    scores = np.array([float(query @ one) for one in keys]) / np.sqrt({size})
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ values
"""
    found = loaded(text.format(size="width"))
    assert "(D,), one query of one head" in found.notices[0]
    assert check(found, tier="quick").exit_status == 0
    assert named(loaded(text.format(size="count"))) == {("scale_by_wrong_axis",)}


def test_an_attention_that_adds_alibi_in_a_helper_is_judged_as_that(loaded: Callable[..., Any]) -> None:
    text = """
import numpy as np

def _alibi(heads, length, keys):
    slopes = 2.0 ** (-{first} * np.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * np.abs(np.arange(length)[:, None] - np.arange(keys))

def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + _alibi(q.shape[1], q.shape[2], k.shape[2])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v
"""
    assert check(loaded(text.format(first=8)), tier="quick").exit_status == 0
    wrong = loaded(text.format(first=4))
    assert [*wrong.operations] == ["alibi_bias"]
    assert check(wrong, tier="quick", diagnosis=False).exit_status == 1


@pytest.mark.parametrize("name", ("attn", "self_attention"))
def test_attention_with_matrices_of_its_own_has_heads(loaded: Callable[..., Any], name: str) -> None:
    text = f"""
import torch

def {name}(x, Wq, Wk, Wv, Wo, n_heads):
    samples, length, width = x.shape
    q, k, v = [(x @ one).view(samples, length, n_heads, -1).transpose(1, 2) for one in (Wq, Wk, Wv)]
    weights = (q @ k.mT / width**0.5).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(samples, length, -1) @ Wo
"""
    assert named(loaded(text)) == {("scale_by_d_model_not_head_dim",)}


def test_positions_that_a_rotation_takes_and_never_reads(loaded: Callable[..., Any]) -> None:
    text = """
import torch

def apply_rotary_pos_emb(q, k, cos, sin, position_ids=None):
    cos, sin = cos[:, None], sin[:, None]
    turn = lambda x: x * cos + torch.cat([-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]], -1) * sin
    return turn(q), turn(k)
"""
    assert check(loaded(text), tier="quick").exit_status == 0


def test_a_step_of_adamw_by_the_type_of_its_state(loaded: Callable[..., Any]) -> None:
    text = """
from typing import NamedTuple
import numpy as np

class AdamWState(NamedTuple):
    count: int
    mu: object
    nu: object

def init_state(params):
    return AdamWState(0, 0 * params, 0 * params)

def update(grads, state: AdamWState, params, lr, b1=0.9, b2=0.999, eps=1e-8, wd=1e-2):
    count, mu = state.count + 1, b1 * state.mu + (1 - b1) * grads
    nu = b2 * state.nu + (1 - b2) * grads**2
    step = mu / (1 - b1**count) / (np.sqrt(nu / (1 - b2**count)) + eps)
    return params - lr * step - {rate} * wd * params, AdamWState(count, mu, nu)
"""
    assert check(loaded(text.format(rate="lr")), tier="quick").exit_status == 0
    assert named(loaded(text.format(rate="1"))) == {("adamw_decay_without_learning_rate",)}


PASSES = """
import torch

def forward(q, k, v, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    p = (scale * q @ k.mT).softmax(-1)
    o = p @ v
    return o, (q, k, v, p, o, scale)

def backward(do, saved):
    q, k, v, p, o, scale = saved
    ds = p * (do @ v.mT - (do * o).sum(-1, keepdim=True))
    return dict(dq=scale * ds @ k, dk={factor}ds.mT @ q, dv=p.mT @ do)
"""


def test_a_pass_that_is_only_called_backward_belongs_to_what_is_called_forward(loaded: Callable[..., Any]) -> None:
    found = loaded(PASSES.format(factor="scale * "))
    assert found.taken_as["backward"] == "scaled_dot_product_attention_backward"
    assert check(found, tier="quick").exit_status == 0
    assert named(loaded(PASSES.format(factor=""))) == {("custom_backward_wrong",)}


def test_a_pass_that_takes_as_many_keys_as_queries_refuses_others(loaded: Callable[..., Any]) -> None:
    found = loaded(
        """
import numpy as np

def attention_forward(q, k, v):
    n, d = q.shape
    p = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            p[i, j] = np.exp(q[i] @ k[j] / d**0.5)
    p = p / p.sum(1, keepdims=True)
    return p @ v, (q, k, v, p)

def attention_backward(do, cache):
    q, k, v, p = cache
    dp = do @ v.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True)) / q.shape[1] ** 0.5
    return ds @ k, ds.T @ q, p.T @ do
"""
    )
    backward = found.operations["scaled_dot_product_attention_backward"]
    drawn = np.random.default_rng(0).normal(size=(2, 1, 1, 3, 4))
    assert all(one.shape == (1, 1, 3, 4) for one in backward(drawn[0], drawn[0], drawn[0], drawn[1]))
    with pytest.raises(ValueError, match="as many queries as keys: there are 2 and 3"):
        backward(drawn[0][:, :, :2], drawn[0], drawn[0], drawn[1][:, :, :2])


def test_what_is_called_flash_and_takes_queries_keys_and_values_attends(loaded: Callable[..., Any]) -> None:
    text = """
import torch

def flash_fwd_ref(q, k, v):
    return (q @ k.mT / q.shape[-1]).softmax(-1) @ v
"""
    assert named(loaded(text)) == {("scale_applied_twice",)}
