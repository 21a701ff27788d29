"""Functions in forms that a fresh set of strangers' files showed: right ones hold, and wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.matching.texts import says_hidden
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
NUMPY = "import numpy as np\n"
SOFTMAX = """
def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
"""


def outcome(found: Implementation, laws: str | list[str]) -> tuple[bool, bool]:
    """Return whether some laws hold, and whether some do not or cannot be judged."""
    counts = check(found, laws=laws, tier="quick").counts
    return counts["passed"] > 0, counts["failed"] + counts["errors"] > 0


HOLDS, BREAKS = (True, False), True

OF_LENGTHS = (
    NUMPY
    + SOFTMAX
    + """
def folded_attention(q, k, v, lengths, num_heads, causal=False):
    logits = np.matmul(q, k.transpose(0, 2, 1)) / np.sqrt(q.shape[-1])
    length = q.shape[1]
    kept = np.repeat(np.arange(length)[None] < np.asarray(lengths)[:, None], num_heads, axis=0)
    logits = np.where(kept[:, None, :], logits, -1e9)
    if causal:
        logits = np.where(np.tri(length, dtype=bool)[None], logits, -1e9)
    return np.matmul(softmax(logits), v)
"""
)


def test_lengths_beside_a_causal_flag_and_heads_in_the_batch(loaded: Loaded) -> None:
    found = loaded(OF_LENGTHS)
    assert "(B·H, L, D); `lengths`: (B,), the visible keys" in " ".join(found.notices)
    assert outcome(found, ["attention.mask.*", "attention.causal.*", "attention.scale"]) == HOLDS
    wrong = loaded(OF_LENGTHS.replace("kept[:, None, :]", "kept[:, :, None]"))
    assert outcome(wrong, "attention.mask.*")[1] == BREAKS


WINDOWED = (
    NUMPY
    + SOFTMAX
    + """
def local_attention(q, k, v, window, causal=True):
    distance = np.arange(q.shape[-2])[:, None] - np.arange(k.shape[-2])
    seen = (distance >= 0) & (distance < window) if causal else abs(distance) <= window
    return softmax(np.where(seen, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)) @ v
"""
)


def test_a_window_of_a_function_that_is_causal_by_default_is_given(loaded: Loaded) -> None:
    found = loaded(WINDOWED)
    assert "always called with causal=True; `window`: the keys to the left" in found.notices[0]
    assert outcome(found, ["attention.window.*", "attention.causal.*"]) == HOLDS
    # What fits no known window is said to be given none.
    other = loaded(WINDOWED.replace("(distance < window)", "(distance < 2 * window)"))
    assert "it fits no known window" in other.notices[0] or "not given" in other.notices[0]


def test_a_wrong_scale_does_not_hide_the_window(loaded: Loaded) -> None:
    found = loaded(WINDOWED.replace("np.sqrt(q.shape[-1])", "q.shape[-1]"))
    assert "`window`: the keys to the left" in found.notices[0]
    report = check(found, laws="attention.*", tier="quick")
    assert [one.mistakes for one in report.diagnoses[0].suspects] == [("scale_applied_twice",)]


def test_heads_that_are_told_are_side_by_side(loaded: Loaded) -> None:
    text = """
def attention(q, k, v, n_heads):
    def heads(x):
        return x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2)
    q, k, v = heads(q), heads(k), heads(v)
    mixed = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
    return mixed.swapaxes(1, 2).reshape(len(q), q.shape[2], -1)
"""
    found = loaded(NUMPY + SOFTMAX + text)
    assert "(B, L, H·D)" in found.notices[0]
    assert outcome(found, "attention.heads.*") == HOLDS


def test_a_result_with_heads_side_by_side_of_queries_that_have_them_apart(loaded: Loaded) -> None:
    text = """
def gqa(xq, xk, xv):
    xk, xv = (np.repeat(x, xq.shape[2] // x.shape[2], axis=2) for x in (xk, xv))
    q, k, v = (x.swapaxes(1, 2) for x in (xq, xk, xv))
    mixed = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
    return mixed.swapaxes(1, 2).reshape(*xq.shape[:2], -1)
"""
    found = loaded(NUMPY + SOFTMAX + text)
    assert "(B, L, H, D), its result (B, L, H·D)" in " ".join(found.notices)
    assert outcome(found, ["grouped_query.scale", "grouped_query.repeated_heads"]) == HOLDS
    wrong = loaded(
        NUMPY
        + SOFTMAX
        + text.replace(
            "np.repeat(x, xq.shape[2] // x.shape[2], axis=2)", "np.tile(x, (1, 1, xq.shape[2] // x.shape[2], 1))"
        )
    )
    assert outcome(wrong, "grouped_query.repeated_heads")[1]


ROTATE = """
def rotate_half(x):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-b, a], -1)
"""


def test_tables_of_all_positions_come_with_the_positions_of_tokens(loaded: Loaded) -> None:
    text = """
def apply_rotary_pos_emb(q, k, cos, sin, position_ids=None):
    if position_ids is None:
        cos, sin = cos[: q.shape[-2]], sin[: q.shape[-2]]
    else:
        cos, sin = cos[position_ids][:, None], sin[position_ids][:, None]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""
    found = loaded(NUMPY + ROTATE + text)
    assert "`position_ids`: (B, L), places in them" in " ".join(found.notices)
    assert outcome(found, "rotary.*") == HOLDS
    assert outcome(loaded(NUMPY + ROTATE + text.replace("cos[position_ids]", "cos[position_ids - 1]")), "rotary.*")[1]


def test_positions_of_each_sample(loaded: Loaded) -> None:
    text = """
def apply_rope(x, positions, theta=10000.0):
    angle = positions[..., None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angle = np.concatenate([angle, angle], -1)[:, :, None, :]
    return x * np.cos(angle) + rotate_half(x) * np.sin(angle)
"""
    found = loaded(NUMPY + ROTATE + text)
    assert "(B, L, H, D); `positions`: (B, L)" in " ".join(found.notices)
    assert outcome(found, "rotary.*") == HOLDS


def test_what_is_added_to_a_loss_is_set_to_nothing(loaded: Loaded) -> None:
    text = """
def cross_entropy_with_z_loss(logits, labels, z_loss=1e-2):
    top = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(-1)) + top[..., 0]
    picked = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (total - picked).mean() + z_loss * (total**2).mean()
"""
    assert outcome(loaded(NUMPY + text), "cross_entropy.*") == HOLDS


def test_functions_of_an_operations_name_in_another_form(loaded: Loaded) -> None:
    text = """
def cross_entropy(logits, labels):
    shares = np.log(softmax(logits))
    return -shares[np.arange(len(labels)), labels].mean()

def scaled_dot_product_attention(query, key, value):
    return softmax(query @ key.T / np.sqrt(query.shape[-1])) @ value
"""
    found = loaded(NUMPY + SOFTMAX + text)
    assert found.taken_as["cross_entropy"] == "cross_entropy"
    assert any("(B·L, N) and (B·L,)" in one for one in found.notices)
    assert any("(L, D), one head" in one for one in found.notices)
    assert "softmax" not in found.taken_as
    assert outcome(found, ["attention.scale", "cross_entropy.uniform"]) == HOLDS


def test_a_log_sum_exp_is_judged_by_the_loss_that_it_makes(loaded: Loaded) -> None:
    right = (
        "def logsumexp(x):\n    m = x.max(-1, keepdims=True)\n    return np.log(np.exp(x - m).sum(-1)) + m[..., 0]\n"
    )
    found = loaded(NUMPY + right)
    assert found.taken_as == {"logsumexp": "cross_entropy"}
    assert outcome(found, "cross_entropy.*") == HOLDS
    assert outcome(loaded(NUMPY + "def logsumexp(x):\n    return np.log(np.exp(x).sum(-1))\n"), "cross_entropy.*")[1]


def test_weights_in_a_dictionary_of_one_letter(loaded: Loaded) -> None:
    text = """
def swiglu_ffn(p, x):
    gate = x @ p["w_gate"]
    return gate / (1 + np.exp(-gate)) * (x @ p["w_up"]) @ p["w_down"]
"""
    found = loaded(NUMPY + text)
    assert found.taken_as == {"swiglu_ffn": "gated_feed_forward"}
    assert outcome(found, "gated_feed_forward.*") == HOLDS


FLASH = """
import math
import torch

def flash_fwd(q, k, v, BLOCK_N=32, causal=True):
    \"\"\"With ``causal`` the bottom-right corner is aligned.\"\"\"
    m, n = q.shape[-2], k.shape[-2]
    o = torch.zeros(*q.shape[:-1], v.shape[-1])
    lse = torch.full(q.shape[:-1], -math.inf)
    for start in range(0, n, BLOCK_N):
        kb, vb = k[..., start : start + BLOCK_N, :], v[..., start : start + BLOCK_N, :]
        s = q @ kb.mT / math.sqrt(q.shape[-1])
        if causal:
            places = torch.arange(start, start + kb.shape[-2])
            s = torch.where((torch.arange(m) + n - m)[:, None] >= places, s, -math.inf)
        new = torch.logaddexp(lse, torch.logsumexp(s, -1))
        o = o * torch.exp(lse - new)[..., None] + torch.exp(s - new[..., None]) @ vb
        lse = new
    return o, lse
"""


def test_attention_that_is_added_up_by_logarithms_is_allowed_its_roundings(loaded: Loaded) -> None:
    """The row without a key is asked for with the flag, so that its gradient is not expected to be that of zeros."""
    pytest.importorskip("torch")
    report = check(loaded(FLASH), laws=["attention.scale", "attention.single_query", "attention_backward.causal.*"])
    assert report.conventions["empty_row"] == "nan"
    assert not report.counts["failed"]


DOCUMENTED = '''
def attention(q, k, v, mask=None):
    """mask: (L, S) bool, {words}"""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else np.where(mask, scores, -1e9)) @ v
'''


@pytest.mark.parametrize(
    ("words", "breaks"),
    [
        ("True may be attended", False),
        ("True marks what is hidden", True),
        ("True = keep, False = hide", False),
        ("True where it is not hidden", False),
        ("whatever you like", False),
    ],
)
def test_documentation_says_what_true_does_in_a_mask(loaded: Loaded, words: str, *, breaks: bool) -> None:
    found = loaded(NUMPY + SOFTMAX + DOCUMENTED.format(words=words))
    assert outcome(found, "attention.mask.*")[1] == breaks
    assert ("True is hidden, as documented" in found.notices[0]) == breaks


def _of_two(q, mask=None, key_padding_mask=None):
    """mask: True = attend. key_padding_mask: (B, S), True where padded."""


def test_documentation_of_two_masks_in_one_line() -> None:
    assert (says_hidden(_of_two, "mask"), says_hidden(_of_two, "key_padding_mask")) == (False, True)
