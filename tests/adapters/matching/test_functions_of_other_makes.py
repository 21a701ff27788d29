"""Functions of autograd, gates without matrices, dictionaries of linear maps, and what names or documentation say."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests import check

APPLIED = """
import torch


class RMSNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps=1e-6):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x * r, r, w)
        return x * r * w

    @staticmethod
    def backward(ctx, dy):
        xn, r, w = ctx.saved_tensors
        d = dy * w
        return (d - xn * (d * xn).mean(-1, keepdim=True)) * r, (dy * xn).reshape(-1, w.shape[0]).sum(0), None
"""
NAMED = f"{APPLIED}\n\nrms_norm = RMSNormFn.apply\n"


@pytest.mark.parametrize(("text", "name"), [(NAMED, "rms_norm"), (APPLIED, "RMSNormFn.apply")])
def test_a_function_of_autograd_is_judged_with_its_own_gradient(loaded, text, name):
    found = loaded(text)
    assert not any("imported from" in notice or "no model" in notice for notice in found.notices)
    report = check(found, tier="quick")
    assert report.verdict == "conforms", report.headline
    assert "rms_norm_backward" in report.derived
    wrong = check(loaded(text.replace(" - xn * (d * xn).mean(-1, keepdim=True)", "")), tier="quick")
    assert {one.operation for one in wrong.diagnoses} == {"rms_norm_backward"}
    assert wrong.diagnoses[0].suspects[0].mistakes == ("norm_backward_projections_forgotten",), name


GATES = {
    "two arrays": "def swiglu(a, b):\n    return a / (1 + np.exp(-a)) * b\n",
    "halves": "def silu_and_mul(x):\n    a, b = np.split(x, 2, -1)\n    return a / (1 + np.exp(-a)) * b\n",
    "the second half": "def swiglu(x):\n    b, a = np.split(x, 2, -1)\n    return a / (1 + np.exp(-a)) * b\n",
    "in turn": "def swiglu(x):\n    a, b = x[..., ::2], x[..., 1::2]\n    return a / (1 + np.exp(-a)) * b\n",
}


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_a_gate_is_judged_as_the_network_between_matrices(loaded, gate):
    text = f"import numpy as np\n\n\n{gate}"
    assert check(loaded(text), tier="quick").verdict == "conforms"
    wrong = check(loaded(text.replace("a / (1 +", "1 / (1 +")), tier="quick")
    assert ["silu_factor_missing" in one.suspects[0].mistakes for one in wrong.diagnoses] == [True]


def test_a_gate_that_names_its_arrays_has_to_keep_to_them(loaded):
    text = "import numpy as np\n\n\ndef swiglu(gate, up):\n    return up / (1 + np.exp(-up)) * gate\n"
    assert check(loaded(text), tier="quick").verdict == "violates"


def test_a_gate_with_settings_of_its_own_is_not_accused(loaded):
    text = f"import numpy as np\n\n\n{GATES['halves']}\n\ndef swiglu(x, alpha=1.702, limit=7.0):\n"
    text += "    a, b = np.split(x, 2, -1)\n    return a / (1 + np.exp(-alpha * a)) * (b + 1)\n"
    report = check(loaded(text), tier="quick")
    assert report.verdict == "conforms"
    assert "swiglu" in report.not_judged


MAPS = """
import numpy as np


def _linear(x, w, b):
    return x @ w + b


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mha(x, c_attn, c_proj, n_head):
    q, k, v = (np.split(one, n_head, axis=-1) for one in np.split(_linear(x, **c_attn), 3, axis=-1))
    hidden = (1 - np.tri(len(x))) * -1e10
    heads = [_softmax(a @ b.T / np.sqrt(a.shape[-1]) + hidden) @ c for a, b, c in zip(q, k, v)]
    return np.hstack(heads) @ c_proj["w"] + c_proj["b"]


def ffn(x, c_fc, c_proj):
    return np.maximum(_linear(x, **c_fc), 0) @ c_proj["w"] + c_proj["b"]
"""


def test_dictionaries_of_linear_maps_are_weights(loaded):
    found = loaded(MAPS)
    assert found.taken_as == {"mha": "multi_head_attention", "ffn": "feed_forward"}
    assert check(found, tier="quick").verdict == "conforms"


def test_a_causal_mask_that_shows_one_key_too_many_is_told_as_such(loaded):
    report = check(loaded(MAPS.replace("np.tri(len(x))", "np.tri(len(x), len(x), 1)")), tier="quick")
    assert [one.suspects[0].mistakes for one in report.diagnoses] == [("causal_diagonal_off_by_one",)]


LOSS = '''
import numpy as np


def lm_loss(logits, tokens):
    """{said}"""
    logits, targets = {shifted}
    logp = logits - logits.max(-1, keepdims=True)
    logp = logp - np.log(np.exp(logp).sum(-1, keepdims=True))
    return -np.take_along_axis(logp, targets[..., None], -1).mean()
'''
SHIFTED, UNSHIFTED = "logits[:, :-1], tokens[:, 1:]", "logits, tokens"


@pytest.mark.parametrize(
    ("said", "shifted", "operation", "verdict"),
    [
        ("Next-token loss of logits (B, T, V).", SHIFTED, "next_token_loss", "conforms"),
        ("Next-token loss of logits (B, T, V).", UNSHIFTED, "next_token_loss", "violates"),
        ("Next-token loss; tokens are already shifted.", UNSHIFTED, "cross_entropy", "conforms"),
        ("Loss of logits (B, T, V).", UNSHIFTED, "cross_entropy", "conforms"),
    ],
)
def test_a_loss_of_next_tokens_is_held_to_what_it_says(loaded, said, shifted, operation, verdict):
    found = loaded(LOSS.format(said=said, shifted=shifted))
    assert found.taken_as == {"lm_loss": operation}
    assert check(found, tier="quick").verdict == verdict


NOAM = """
class CustomSchedule:
    def __init__(self, d_model, warmup_steps=4000):
        self.d_model, self.warmup_steps = d_model, warmup_steps

    def __call__(self, step):
        return self.d_model**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5)
"""


def test_a_schedule_may_be_a_class(loaded):
    right, wrong = (check(loaded(text), tier="quick") for text in (NOAM, NOAM.replace("min(", "max(")))
    assert right.taken_as == {"CustomSchedule": "warmup_inverse_root_learning_rate"}
    assert (right.verdict, wrong.verdict) == ("conforms", "violates")


def test_the_table_of_tensor2tensor_is_not_accused(loaded):
    text = f"""
import numpy as np


def sinusoids(length, channels):
    rates = np.exp(-np.log(10000) / (channels // 2 - 1) * np.arange(channels // 2))
    angles = np.arange(length)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


{GATES["two arrays"]}"""
    report = check(loaded(text), tier="quick")
    assert report.verdict == "conforms"
    assert "Whisper" in report.not_judged["sinusoids"]


PADDED = """
import torch
import torch.nn.functional as F


def masked_loss(label, pred, pad=0):
    keep = (label != pad).to(pred.dtype)
    loss = F.cross_entropy(pred.transpose(1, 2), label, reduction="none") * keep
    return loss.sum() / keep.{counted}()
"""


@pytest.mark.parametrize(("counted", "mistakes"), [("sum", []), ("numel", ["loss_denominator_counts_padding"])])
def test_a_class_that_is_padding_by_default_counts_nowhere(loaded, counted, mistakes):
    report = check(loaded(PADDED.format(counted=counted)), tier="quick")
    assert [name for one in report.diagnoses for name in one.suspects[0].mistakes] == mistakes
    assert report.counts["passed"] > 15


SOFTMAX = """
import numpy as np


def softmax(x, {parameter}):
    e = np.exp(x - x.max({of_max}, keepdims=True))
    return e / e.sum({of_sum}, keepdims=True)
"""


def test_a_softmax_that_is_told_its_axis_has_to_take_it(loaded):
    right, *wrong = (
        check(loaded(SOFTMAX.format(parameter="dim", of_max=of_max, of_sum=of_sum)), tier="quick")
        for of_max, of_sum in (("dim", "dim"), ("dim", -1), (-1, "dim"))
    )
    assert right.verdict == "conforms"
    assert [one.verdict for one in wrong] == ["violates"] * 2


def test_weights_beside_an_output_of_samples_for_each_query_are_named(loaded):
    text = """
import numpy as np


def masked_attention(q, k, v, is_pad):
    scores = np.where(is_pad[:, None, None, :], -1e9, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    return w @ v, w
"""
    found = loaded(text)
    assert any("what else it returns is not judged" in notice for notice in found.notices)
    assert check(found, tier="quick").verdict == "conforms"


MERGED = """
import numpy as np


def merge_attn_states(out_a, lse_a, out_b, lse_b):
    top = np.maximum(np.maximum(lse_a, lse_b), -1e30)
    a, b = np.exp(lse_a - top), np.exp(lse_b - top)
    whole = a + b
    shares = [np.swapaxes(one / np.maximum(whole, 1e-30), 1, 2)[..., None] for one in (a, b)]
    with np.errstate(divide="ignore"):
        return out_a * shares[0] + out_b * shares[1], top + np.log(whole)
"""


def test_parts_that_are_merged_may_have_lengths_before_heads(loaded):
    found = loaded(MERGED)
    assert "(B, L, H, D) and (B, H, L)" in found.notices[0]
    assert check(found, tier="quick").verdict == "conforms"
    assert check(loaded(MERGED.replace("top + np.log(whole)", "top + whole")), tier="quick").verdict == "violates"


GROUPED = """
import numpy as np


def attend(q, k, v):
    b, l, n, h = q.shape
    shared = k.shape[2]
    q = q.reshape({shape}) * h**-0.5
    s = np.einsum("blkgh,bskh->bkgls", q, k)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    return np.einsum("bkgls,bskh->blkgh", p, v).reshape(b, l, n, h)
"""


def test_an_attention_that_takes_fewer_heads_of_keys_is_judged_with_them(loaded):
    right = loaded(GROUPED.format(shape="b, l, shared, n // shared, h"))
    assert set(right.taken_as.values()) == {"scaled_dot_product_attention", "grouped_query_attention"}
    assert check(right, tier="quick").verdict == "conforms"
    strided = loaded(
        GROUPED.format(shape="b, l, n // shared, shared, h").replace("* h**-0.5", ".swapaxes(2, 3) * h**-0.5")
    )
    report = check(strided, tier="quick")
    assert {one.law.operation.name for one in report.results if one.status == "failed"} == {"grouped_query_attention"}
