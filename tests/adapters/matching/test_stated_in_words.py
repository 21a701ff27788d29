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
