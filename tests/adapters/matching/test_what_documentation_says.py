"""What the documentation of a function says of masks and windows is what it is judged by; other forms of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.matching.texts import says_hidden, says_window_counts_own, says_window_ends_at_own
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
SOFTMAX = """
import numpy as np


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


"""
HOLDS, BREAKS = (True, False), True


def outcome(found: Implementation, laws: str | list[str]) -> tuple[bool, bool]:
    """Return whether some laws hold, and whether some do not or cannot be judged."""
    counts = check(found, laws=laws, tier="quick").counts
    return counts["passed"] > 0, counts["failed"] + counts["errors"] > 0


def _either(query: object, attn_mask: object) -> None:
    """Attend.

    attn_mask is either boolean (True = this key takes part) or float (added to the scores).
    """


def _likewise(query: object, bias: object, mask: object) -> None:
    """Attend; bias is added to the scaled logits;

    mask likewise, False entries are left out.
    """


def _of_zeros(query: object, mask: object) -> None:
    """Attend; mask: 0 for padding, 1 for tokens that are real."""


def _of_both_values(query: object, mask: object) -> None:
    """Attend; mask (B, L) with 1 for tokens and 0 for padding."""


@pytest.mark.parametrize(
    ("function", "parameter"),
    ((_either, "attn_mask"), (_likewise, "mask"), (_of_zeros, "mask"), (_of_both_values, "mask")),
)
def test_a_mask_that_shows_is_read_in_other_words(function: Callable[..., None], parameter: str) -> None:
    assert says_hidden(function, parameter) is False


MASKED = (
    SOFTMAX
    + '''def attention(query, key, value, mask=None):
    """mask is boolean, False entries are left out."""
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, -1e9)
    return _softmax(logits) @ value
'''
)


def test_a_mask_of_the_other_polarity_than_documented_breaks_laws(loaded: Loaded) -> None:
    assert outcome(loaded(MASKED), "attention.mask.*") == HOLDS
    assert outcome(loaded(MASKED.replace("np.where(mask,", "np.where(~mask,")), "attention.mask.*")[1] == BREAKS


WINDOWED = (
    SOFTMAX
    + '''def window_mask(length, window):
    """True = attend. Token i sees the `window` tokens i - window + 1 ... i."""
    before = np.arange(length)[:, None] - np.arange(length)
    return (before >= 0) & (before < window)


def local_attention(q, k, v, window):
    logits = np.where(window_mask(q.shape[-2], window), q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -1e9)
    return _softmax(logits) @ v
'''
)
WIDER = WINDOWED.replace("before < window", "before <= window")
OF_BOTH_SIDES = WINDOWED.replace("(before >= 0) & (before < window)", "abs(before) < window")


def test_a_window_that_is_documented_by_its_first_and_last_key(loaded: Loaded) -> None:
    assert outcome(loaded(WINDOWED), "attention.window.*") == HOLDS
    assert outcome(loaded(WIDER), "attention.window.*")[1] == BREAKS
    assert outcome(loaded(OF_BOTH_SIDES), ["attention.window.*", "attention.scale"])[1] == BREAKS


def _of_both(query: object, window: int) -> None:
    """Each token sees itself and the window // 2 tokens on either side."""


def test_a_window_of_both_sides_ends_at_no_own_key() -> None:
    assert not says_window_ends_at_own(_of_both)
    assert not says_window_counts_own(_of_both)


# --- training ---------------------------------------------------------------------------------------------------------

DECAYED = """
import numpy as np


def adamw_step(params, grads, m, v, t, lr=1e-3, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1):
    new_p, new_m, new_v = {}, {}, {}
    for name, p in params.items():
        g = grads[name]
        new_m[name] = beta1 * m[name] + (1 - beta1) * g
        new_v[name] = beta2 * v[name] + (1 - beta2) * g * g
        update = (new_m[name] / (1 - beta1**t)) / (np.sqrt(new_v[name] / (1 - beta2**t)) + eps)
        if p.ndim >= 2:
            update = update + weight_decay * p
        new_p[name] = p - lr * update
    return new_p, new_m, new_v
"""
WRONG_CORRECTION = DECAYED.replace("1 - beta2**t", "1 - beta1**t")
NO_DECAY = DECAYED.replace("update + weight_decay * p", "update")


def test_a_step_that_lets_matrices_alone_decay(loaded: Loaded) -> None:
    assert outcome(loaded(DECAYED), "adamw.*") == HOLDS
    assert outcome(loaded(WRONG_CORRECTION), "adamw.*")[1] == BREAKS
    assert outcome(loaded(NO_DECAY), "adamw.*")[1] == BREAKS


CLIPPED = """
import numpy as np


def clip_by_global_norm(gradients, max_norm):
    norm = np.sqrt(sum(float((one**2).sum()) for one in gradients))
    factor = min(1.0, max_norm / (norm + 1e-6))
    return [one * factor for one in gradients], norm
"""


def test_clipping_of_the_operations_own_name_that_returns_the_norm_too(loaded: Loaded) -> None:
    assert outcome(loaded(CLIPPED), "clip.*") == HOLDS
    assert outcome(loaded(CLIPPED.replace("min(1.0, ", "max(0.0, ")), "clip.*")[1] == BREAKS


LOG_SOFTMAX = """
import numpy as np


def log_softmax(x, axis=-1):
    z = x - np.max(x, axis=axis, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))


def log_softmax_backward(dy, logp, axis=-1):
    return dy - np.exp(logp) * dy.sum(axis=axis, keepdims=True)
"""


def test_the_backward_pass_of_a_log_softmax_is_no_loss_and_has_a_line(loaded: Loaded) -> None:
    found = loaded(LOG_SOFTMAX)
    assert outcome(found, "*") == HOLDS
    assert "log_softmax_backward" in found.not_judged


SQUARES = """
import numpy as np


def lm_loss(logits, tokens, z_loss_weight=1e-4):
    logits, targets = logits[:, :-1].astype(np.float64 if logits.dtype == np.float64 else np.float32), tokens[:, 1:]
    top = logits.max(-1, keepdims=True)
    log_z = (top + np.log(np.exp(logits - top).sum(-1, keepdims=True)))[..., 0]
    with np.errstate(over="ignore", invalid="ignore"):
        ce = (log_z - np.take_along_axis(logits, targets[..., None], -1)[..., 0]).mean()
        return ce + z_loss_weight * (log_z * log_z).mean(), ce
"""


def test_a_z_loss_of_weight_zero_is_given_no_squares_that_overflow(loaded: Loaded) -> None:
    assert outcome(loaded(SQUARES), "next_token_loss.*") == HOLDS
    assert outcome(loaded(SQUARES.replace("tokens[:, 1:]", "tokens[:, :-1]")), "next_token_loss.*")[1] == BREAKS


SHARED = (
    SOFTMAX
    + '''def attend(q, k, v, mask=None, num_kv_groups=1):
    """q: (B, T, H, D), k and v: (B, S, G, D); mask (T, S), True = may look."""
    k, v = (np.repeat(one, num_kv_groups, axis=2) for one in (k, v))
    logits = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, -1e9)
    return np.einsum("bhts,bshd->bthd", _softmax(logits), v)
'''
)


def test_a_number_of_groups_with_a_default_is_given(loaded: Loaded) -> None:
    found = loaded(SHARED)
    assert "attend is judged as grouped_query_attention" in " ".join(found.notices)
    assert outcome(found, "grouped_query.*") == HOLDS
    tiled = loaded(SHARED.replace("np.repeat(one, num_kv_groups, axis=2)", "np.tile(one, (1, 1, num_kv_groups, 1))"))
    assert outcome(tiled, "grouped_query.*")[1] == BREAKS
    assert outcome(loaded(SHARED.replace("np.where(mask,", "np.where(~mask,")), "grouped_query.mask.*")[1] == BREAKS


def _bias_of(mask: Any) -> Any:
    """Hugging Face style attention_mask (batch, seq), 1 = real token and 0 = padding, to an additive bias."""
    return mask


def _attend(query: Any, key: Any, value: Any, attention_mask: Any = None) -> Any:
    """Query (B, H, L, D), attention_mask (B, S)."""
    return query, key, value, _bias_of(attention_mask)


def _attend_of_shapes(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    """Attend.

    mask: boolean (batch, 1 or heads, q_length, kv_length). True: the query attends to the key,
      False: the key is hidden.
    """
    return query, key, value, mask


def _attend_by_another(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
    return query, key, value, np.where(mask, 0.0, 1.0)


@pytest.mark.parametrize(
    ("function", "parameter", "hides"),
    ((_attend, "attention_mask", False), (_attend_of_shapes, "mask", False), (_attend_by_another, "mask", None)),
)
def test_the_text_that_speaks_of_a_mask(function: Any, parameter: str, hides: bool | None) -> None:
    assert says_hidden(function, parameter) is hides
