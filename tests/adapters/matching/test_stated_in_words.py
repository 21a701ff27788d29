"""What documentation says of windows, of lengths and of the number of new tokens is held to."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer import check

WINDOW = '''
import torch


def attention(q, k, v, *, window=None):
    """Causal attention of (B, H, L, D). SAID."""
    length, keys = q.shape[-2], k.shape[-2]
    distance = torch.arange(length)[:, None] - torch.arange(keys)
    seen = distance >= 0
    if window is not None:
        seen = seen & (distance COMPARED window)
    logits = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, float("-inf"))
    return torch.softmax(logits, -1) @ v
'''
EXCLUSIVE = "A query sees itself and the `window` - 1 positions before it"
INCLUSIVE = "Query i sees key j if i - j <= window"
STEP = '''
import torch


class Cache:
    def __init__(self, batch, heads, max_len, head_dim):
        self.k, self.v = (torch.zeros(batch, heads, max_len, head_dim) for _ in range(2))
        self.length = 0

    def append(self, k, v):
        end = self.length + k.shape[2]
        self.k[:, :, self.length:end], self.v[:, :, self.length:end] = k, v
        self.length += GROWN
        return self.k[:, :, :end], self.v[:, :, :end]


def decode_step(q, k, v, cache):
    """SAID (B, H, n, D)."""
    past, rows = cache.length, q.shape[2]
    k, v = cache.append(k, v)
    hidden = torch.arange(k.shape[2])[None, :] > torch.arange(rows)[:, None] + past
    logits = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))
    return torch.softmax(logits, -1) @ v
'''
SEVERAL, SINGLE = "Attend n new tokens to the cache and to themselves.", "Attend one new token to the cache, n = 1."


def written(folder: Path, text: str) -> str:
    file = folder / "own.py"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("said", "compared", "verdict"),
    [
        (EXCLUSIVE, "<", "conforms"),
        (INCLUSIVE, "<=", "conforms"),
        ("A window", "<=", "conforms"),
        (EXCLUSIVE, "<=", "violates"),
        (INCLUSIVE, "<", "violates"),
    ],
)
def test_keys_of_a_window_are_counted_as_stated(said: str, compared: str, verdict: str, tmp_path: Path) -> None:
    text = WINDOW.replace("SAID", said).replace("COMPARED", compared)
    report = check(written(tmp_path, text), tier="quick", laws=("attention.window.*",))
    assert report.verdict == verdict
    if verdict == "violates":
        assert "sliding_window_off_by_one" in report.diagnoses[0].suspects[0].mistakes


@pytest.mark.parametrize(
    ("said", "grown", "verdict", "words"),
    [
        (SEVERAL, "k.shape[2]", "conforms", "two positions at a time"),
        (SEVERAL, "1", "violates", "two positions at a time"),
        (SINGLE, "1", "conforms", "one position at a time"),
    ],
)
def test_a_step_takes_as_many_tokens_as_stated(said: str, grown: str, verdict: str, words: str, tmp_path: Path) -> None:
    report = check(written(tmp_path, STEP.replace("SAID", said).replace("GROWN", grown)), tier="quick")
    assert report.verdict == verdict
    assert words in report.notices[0]


PARTS = '''
import numpy as np


def chunked_attention(q, k, v, chunk=128):
    """Attention of (B, H, L, D) over parts of the keys, whose last one is filled up. SAID"""
    keys = k.shape[-2]
    pad = -keys % chunk
    k, v = (np.pad(one, ((0, 0), (0, 0), (0, pad), (0, 0))) for one in (k, v))
    total, most, summed = 0.0, np.full((*q.shape[:-1], 1), -np.inf, q.dtype), 0.0
    for start in range(0, keys, chunk):
        places = np.arange(start, start + chunk)
        logits = q @ k[..., places, :].swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        logits = np.where(places COMPARED keys, logits, -np.inf)
        larger = np.maximum(most, logits.max(-1, keepdims=True))
        rescaled, shares = np.exp(most - larger), np.exp(logits - larger)
        total, summed = total * rescaled + shares.sum(-1, keepdims=True), summed * rescaled + shares @ v[..., places, :]
        most = larger
    return (summed / total).astype(q.dtype)
'''


@pytest.mark.parametrize(
    ("said", "compared", "verdict", "words"),
    [
        ("", "<", "conforms", "`chunk` is 4"),
        ("Keys need not be a multiple of chunk.", "<=", "violates", "`chunk` is 4"),
        ("Keys must be a multiple of chunk.", "<=", "conforms", "few equal parts"),
    ],
)
def test_equal_parts_excuse_what_asks_for_them(
    said: str, compared: str, verdict: str, words: str, tmp_path: Path
) -> None:
    report = check(written(tmp_path, PARTS.replace("SAID", said).replace("COMPARED", compared)), tier="quick")
    assert report.verdict == verdict
    assert words in report.notices[0]


LOSS = '''
import torch


def metrics(logits, tokens, mask):
    """logits[:, t] predicts tokens[:, t + 1]; mask: 1 where a token is to be predicted. Means are over all tokens."""
    logged, labels = torch.log_softmax(logits[:, :-1], -1), tokens[:, 1:]
    each = -logged.gather(-1, labels[..., None])[..., 0]
    counted = mask[:, SHIFTED].to(each.dtype)
    return {"loss": (each * counted).sum() / counted.sum().clamp(min=1.0)}
'''


@pytest.mark.parametrize(
    ("shifted", "words"),
    [
        ("1:", "`mask`: 1 counts, 0 is ignored"),
        (":-1", "`mask` lets every token count: what it hides fits no known mask"),
    ],
)
def test_a_mask_of_tokens_that_is_not_judged_is_named(shifted: str, words: str, tmp_path: Path) -> None:
    report = check(written(tmp_path, LOSS.replace("SHIFTED", shifted)), tier="quick")
    assert report.verdict == "conforms"
    assert words in report.notices[0]


ROTATION = '''
import numpy as np


def rope(x, pos, base=10000.0):
    """Interleaved rotary embedding of x (heads, dim) at integer position pos."""
    width = x.shape[-1]
    angles = pos * base ** (-np.arange(0, width, 2) / width)
    cosines, sines = np.cos(angles), np.sin(angles)
    first, second = x[:, 0::2], x[:, 1::2]
    turned = np.empty_like(x)
    turned[:, 0::2], turned[:, 1::2] = first * cosines - second * sines, first * SIGN + second * cosines
    return turned
'''


@pytest.mark.parametrize(("sign", "verdict"), [("sines", "conforms"), ("-sines", "violates")])
def test_a_rotation_may_take_one_position(sign: str, verdict: str, tmp_path: Path) -> None:
    report = check(written(tmp_path, ROTATION.replace("SIGN", sign)), tier="quick")
    assert report.verdict == verdict
    assert "(H, D), one position, without samples" in report.notices[0]
