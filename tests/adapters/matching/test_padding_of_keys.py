"""A mask of keys for each sample, under the names that people give it, is the mask of an attention without another."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests import check

NAMES = (
    *("key_padding", "key_padding_mask", "padding", "pad_mask", "kv_mask", "src_key_padding_mask", "attention_mask"),
    "keyPaddingMask",
)
TEXT = """import numpy as np

def attention(query, key, value, {parameters}):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if {name} is not None:
        scores = np.where({visible}, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ value
"""
_VISIBLE = {"True may be attended": "{}[:, None, None, :]", "True is hidden": "~{}[:, None, None, :]"}


def _text(name: str, words: str, *, required: bool = False, before: str = "") -> str:
    parameters = f"{before}{name}{'' if required else '=None'}"
    return TEXT.format(name=name, parameters=parameters, visible=_VISIBLE[words].format(name))


@pytest.mark.parametrize("words", _VISIBLE)
@pytest.mark.parametrize("name", NAMES)
def test_padding_is_given_in_either_polarity(loaded, name, words):
    found = loaded(_text(name, words))
    assert f"`{name}`: (B, S), {words}" in found.notices[0]
    assert "not given" not in found.notices[0]


@pytest.mark.parametrize("words", _VISIBLE)
def test_padding_that_every_call_must_pass_is_given(loaded, words):
    found = loaded(_text("key_padding", words, required=True))
    assert f"`key_padding`: (B, S), {words}" in found.notices[0]


def test_padding_is_judged_by_the_laws_of_masks(loaded):
    right = check(loaded(_text("key_padding", "True is hidden")), laws="attention.mask.*", tier="quick")
    assert right.counts["passed"]
    assert not right.counts["failed"]
    text = _text("key_padding", "True is hidden").replace("-np.inf)", "0.0)")
    wrong = check(loaded(text), laws="attention.mask.*", tier="quick")
    assert wrong.counts["failed"]


_OVER_QUERIES = {"scores.max(-1": "scores.max(-2", "weights.sum(-1": "weights.sum(-2"}


def _changed(text: str, changes: dict[str, str]) -> str:
    for was, written in changes.items():
        assert was in text
        text = text.replace(was, written)
    return text


@pytest.mark.parametrize(
    ("slug", "changes"),
    [
        ("scale_by_wrong_axis", {"np.sqrt(query.shape[-1])": "np.sqrt(query.shape[-2])"}),
        ("softmax_wrong_axis", _OVER_QUERIES),
    ],
)
def test_a_mistake_is_named_beside_padding(loaded, slug, changes):
    """Calls with padding are other calls of the function, so that a wrong formula is looked for in the others."""
    text = _changed(_text("key_padding", "True is hidden"), changes)
    report = check(loaded(text), laws="attention.*", tier="quick")
    assert [one.mistakes for one in report.diagnoses[0].suspects] == [(slug,)]


def test_padding_is_hidden_where_a_wrong_function_tells_no_polarity(loaded):
    found = loaded(_changed(_text("key_padding", "True may be attended"), {**_OVER_QUERIES, "-np.inf)": "np.nan)"}))
    assert "`key_padding`: (B, S), True is hidden" in found.notices[0]


BESIDE = """import numpy as np

def attention(query, key, value, {mask}key_padding=None, is_causal=False):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
{masked}    {word} key_padding is not None:
        scores = np.where({visible}, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ value
"""
_MASKED = "    if mask is not None:\n        scores = np.where(mask, scores, -np.inf)\n"
_KEYS, _QUERIES = "~key_padding[:, None, None, :]", "~key_padding[:, None, :, None]"


def _beside(*, mask: bool, word: str = "if", visible: str = _KEYS) -> str:
    parts = {"mask": "mask=None, ", "masked": _MASKED} if mask else {"mask": "", "masked": ""}
    return BESIDE.format(word=word, visible=visible, **parts)


@pytest.mark.parametrize("mask", [False, True])
def test_padding_is_given_beside_a_mask_and_the_causal_flag(loaded, mask):
    found = loaded(_beside(mask=mask))
    assert "`key_padding`: (B, S), True is hidden" in found.notices[0]
    report = check(found, laws=["attention.mask.*", "attention.causal.*"], tier="quick")
    assert report.counts["passed"] > 10
    assert not report.counts["failed"]
    assert not report.counts["errors"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mask": False, "word": "elif"},
        {"mask": True, "word": "elif"},
        {"mask": False, "visible": _QUERIES},
        {"mask": True, "visible": _QUERIES},
    ],
)
def test_padding_that_is_dropped_or_hides_queries_is_no_padding(loaded, changes):
    report = check(loaded(_beside(**changes)), laws=["attention.mask.*", "attention.causal.*"], tier="quick")
    assert report.counts["failed"]


def test_masks_of_padding_reach_a_causal_function(loaded):
    text = _beside(mask=False).replace(", is_causal=False", "").replace("if is_causal:", "if True:")
    found = loaded(text)
    assert "always causal; `key_padding`: (B, S), True is hidden" in found.notices[0]
    report = check(found, laws="attention.*", tier="quick")
    assert not report.counts["failed"]
    wrong = check(loaded(text.replace("-np.inf)\n    top", "-1.0)\n    top")), laws="attention.*", tier="quick")
    assert wrong.counts["failed"]
