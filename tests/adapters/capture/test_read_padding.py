"""The token that code compares its token ids with is what it takes for padding."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.adapters.capture.padding import compared_token


def by_operator(input_ids: Any, attention_mask: Any = None) -> Any:
    return attention_mask if attention_mask is not None else input_ids != 0


def by_method(src: Any, tgt: Any) -> Any:
    return src.eq(1), tgt.ne(1)


def of_a_mask(x: Any, mask: Any) -> Any:
    return x.masked_fill(mask == 0, 0.0)


def of_two(ids: Any) -> Any:
    return (ids != 0) & (ids != 2)


class Module:
    def forward(self, tokens: Any) -> Any:
        return tokens != 3


@pytest.mark.parametrize(
    ("called", "token"),
    [(by_operator, 0), (by_method, 1), (of_a_mask, None), (of_two, None), (Module(), 3), (print, None), (None, None)],
)
def test_the_token_of_padding_is_read_off_code(called: Any, token: int | None) -> None:
    assert compared_token(called) == token
