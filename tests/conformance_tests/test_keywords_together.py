"""Keywords that are given together: one that is forgotten where another is given is found, whichever the two are."""

from __future__ import annotations

import math
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check

_KEYWORDS = ("mask", "bias", "is_causal", "scale")
_LAWS = ("attention.mask.value", "attention.bias.value", "attention.causal.with_padding", "attention.explicit_scale")


def attention(forgotten: str = "", where: str = "") -> Any:
    """Return an attention that forgets one keyword where another is given."""

    def scaled_dot_product_attention(
        query: Any,
        key: Any,
        value: Any,
        *,
        mask: Any = None,
        bias: Any = None,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> Any:
        given = {"mask": mask, "bias": bias, "is_causal": is_causal or None, "scale": scale}
        if given.get(where) is not None:
            given[forgotten] = None
        factor = given["scale"] if given["scale"] is not None else 1.0 / math.sqrt(query.shape[-1])
        logits = query @ np.swapaxes(key, -1, -2) * factor
        logits = logits if given["bias"] is None else logits + given["bias"]
        visible = np.ones(logits.shape, dtype=bool)
        visible = visible if given["mask"] is None else visible & given["mask"]
        visible = visible & np.tri(*logits.shape[-2:], dtype=bool) if given["is_causal"] else visible
        shifted = np.where(visible, logits - np.where(visible, logits, -np.inf).max(-1, keepdims=True), -np.inf)
        weights = np.where(visible, np.exp(np.where(visible, shifted, 0.0)), 0.0)
        total = weights.sum(-1, keepdims=True)
        return (weights / np.where(total > 0.0, total, 1.0) @ value).astype(query.dtype)

    return SimpleNamespace(
        scaled_dot_product_attention=scaled_dot_product_attention, conventions={"causal_alignment": "top_left"}
    )


def failed(implementation: Any) -> int:
    report = check(implementation, laws=_LAWS, diagnosis=False, shrink=False)
    assert report.counts["not_declared"] == 0
    return report.counts["failed"]


def test_one_that_forgets_nothing_is_right() -> None:
    with np.errstate(invalid="ignore"):
        assert failed(attention()) == 0


@pytest.mark.parametrize(("forgotten", "where"), list(permutations(_KEYWORDS, 2)))
def test_a_keyword_that_is_forgotten_beside_another_is_found(forgotten: str, where: str) -> None:
    with np.errstate(invalid="ignore"):
        assert failed(attention(forgotten, where)) > 0


def test_a_program_that_refuses_a_bias_beside_the_flag_is_not_accused() -> None:
    right = attention().scaled_dot_product_attention

    def scaled_dot_product_attention(
        query: Any, key: Any, value: Any, *, bias: Any = None, is_causal: bool = False
    ) -> Any:
        if bias is not None and is_causal:
            raise ValueError("a bias and is_causal exclude each other")
        return right(query, key, value, bias=bias, is_causal=is_causal)

    own = SimpleNamespace(
        scaled_dot_product_attention=scaled_dot_product_attention, conventions={"causal_alignment": "top_left"}
    )
    with np.errstate(invalid="ignore"):
        report = check(own, operations="scaled_dot_product_attention")
    assert report.exit_status == 0
    assert report.conventions["causal_with_mask"] == "rejects"
