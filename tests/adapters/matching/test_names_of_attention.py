"""What says attention in its name, and else how it is laid out or taken in parts, is taken for attention."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.errors import NoOperations
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

pytest.importorskip("torch")

SIGNATURE = "q, k, v, lengths"
MASK = """shown = torch.arange(k.shape[-2]) < lengths[:, None]
    scores = scores.masked_fill(~shown[:, None, None], -torch.inf)"""


@pytest.mark.parametrize(
    "name",
    [
        *("attention_with_lengths", "attention_using_lengths", "attention_with_padding", "attn_with_mask"),
        *("online_attention", "streaming_attention", "split_attention", "sdpa_with_lens", "attend_with_bias"),
    ],
)
def test_an_attention_of_lengths_is_taken(
    loaded: Callable[..., Implementation], attention: Callable[..., str], name: str
) -> None:
    found = loaded(attention(name, SIGNATURE, MASK))
    assert found.taken_as == {name: "scaled_dot_product_attention"}
    assert "`lengths`: (B,), the visible keys" in found.notices[0]


@pytest.mark.parametrize("name", ["attention_entropy", "attention_with_sinks", "gradient_of_attention"])
def test_what_says_something_else_too_is_not(
    loaded: Callable[..., Implementation], attention: Callable[..., str], name: str
) -> None:
    with pytest.raises(NoOperations, match=name):
        loaded(attention(name, SIGNATURE, MASK))


def test_it_is_judged(loaded: Callable[..., Implementation], attention: Callable[..., str]) -> None:
    text = attention("attention_with_lengths", SIGNATURE, MASK)
    laws = ["attention.mask.removed_keys", "attention.mask.masked_content", "attention.scale"]
    right = check(loaded(text), laws=laws, tier="quick")
    assert right.counts["passed"] == 3 and not right.counts["failed"]
    wrong = check(loaded(text.replace("< lengths", "<= lengths")), laws=laws, tier="quick", diagnosis=False)
    assert wrong.counts["failed"]
