"""The families of attention and networks as layers and whole Transformers use them.

Features without an argument of such a part cannot go wrong there, and masks belong to the whole.
"""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.operations.feed_forward.variants import FEED_FORWARD, GATED_FEED_FORWARD
from veriformer.conformance_tests.operations.multi_head.variants.formula import MULTI_HEAD
from veriformer.conformance_tests.variants.family import Family

_MASKS = ("mask_heeded", "mask_reading")
_FLAG = ("causal_beside_mask", "causal_when", "causal_alignment", "causal_diagonal", "causal_use")
# Vectors that come out of a norm make no logits this large.
_FINITE_FILLS = tuple(
    f"mask_use={option.name}"
    for option in MULTI_HEAD.parts["attention"].all_decisions["mask_use"].options
    if option.slug == "finite_mask_beaten_by_logits"
)


def _multi_head(*without: str, of_attention: tuple[str, ...] = ()) -> Family:
    within = MULTI_HEAD.parts["attention"].without(*_MASKS, *_FLAG, *_FINITE_FILLS, *of_attention)
    return replace(MULTI_HEAD.without("kv_weights", *without), parts={"attention": within})


def _settled(family: Family) -> Family:
    return family.without(*family.all_decisions)


_OF_CROSS_ATTENTION = ("streams", "biases=cross_attn_query_skips_step")
# A layer uses the given weights: attention, not the layer, misreads weights of few heads.
SELF_ATTENTION = _multi_head(*_OF_CROSS_ATTENTION, of_attention=("grouping",))
CROSS_ATTENTION = _multi_head("streams=all_from_x", of_attention=("grouping",))
GROUPED_SELF_ATTENTION = _multi_head(*_OF_CROSS_ATTENTION)
GELU_NETWORK = replace(FEED_FORWARD, parts={**FEED_FORWARD.parts, "silu": _settled(FEED_FORWARD.parts["silu"])})
GATED_SILU_NETWORK = replace(
    GATED_FEED_FORWARD, parts={**GATED_FEED_FORWARD.parts, "gelu": _settled(GATED_FEED_FORWARD.parts["gelu"])}
)
