"""Implementations of one size: cases are drawn with it, and laws that need another are not declared."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.errors import LoadError
from veriformer.adapters.fixed_values import FIXABLE
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

REFERENCE = load("numpy").operations
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text(encoding="utf-8")


def demand(**sizes: tuple[int, int]) -> None:
    for name, (received, built_with) in sizes.items():
        assert received == built_with, name


def layer_norm(x, gamma, beta, *, eps):
    demand(width=(x.shape[-1], 6))
    assert eps == 1e-6
    return REFERENCE["layer_norm"](x, gamma, beta, eps=eps)


def feed_forward(x, weights, *, activation):
    demand(width=(x.shape[-1], 6), hidden=(weights.w_1.shape[1], 10))
    assert activation == "silu"
    return REFERENCE["feed_forward"](x, weights, activation=activation)


def causal(x, context, weights, *, num_heads, is_causal=True, mask=None):
    demand(width=(x.shape[-1], 12), heads=(num_heads, 3))
    assert is_causal
    assert max(x.shape[1], context.shape[1]) <= 9
    return REFERENCE["multi_head_attention"](x, context, weights, num_heads=num_heads, is_causal=True, mask=mask)


def grouped(x, context, weights, *, num_heads, num_kv_heads=2):
    demand(width=(x.shape[-1], 8), heads=(num_heads, 4), groups=(num_kv_heads, 2))
    return REFERENCE["multi_head_attention"](x, context, weights, num_heads=num_heads, num_kv_heads=num_kv_heads)


def encoder_layer(x, weights, *, num_heads, norm_first, activation, eps, padding_mask=None):
    demand(width=(x.shape[-1], 8), heads=(num_heads, 2), hidden=(weights.feed_forward.w_1.shape[1], 5))
    assert x.shape[1] <= 7
    return REFERENCE["encoder_layer"](
        x,
        weights,
        num_heads=num_heads,
        norm_first=norm_first,
        activation=activation,
        eps=eps,
        padding_mask=padding_mask,
    )


def token_embedding(tokens, table):
    demand(vocabulary=(table.shape[0], 11), width=(table.shape[1], 6))
    return REFERENCE["token_embedding"](tokens, table)


def passed_and_not(**target: Any) -> tuple[set[str], set[str]]:
    report = check(SimpleNamespace(**target), tier="quick", seed=3)
    assert report.verdict == "conforms", [one.law.id for one in report.results if one.status in ("failed", "error")]
    assert not report.notices
    its = [one for one in report.results if not one.reason.startswith("no operation")]
    return tuple({one.law.id for one in its if (one.status == "passed") is held} for held in (True, False))  # type: ignore[return-value]


def test_norms_and_networks() -> None:
    sizes = {"d_model": 6, "d_ff": 10, "eps": 1e-6, "feed_forward.activation": "silu"}
    passed, lacking = passed_and_not(layer_norm=layer_norm, feed_forward=feed_forward, fixed_values=sizes)
    assert {
        "layer_norm.value",
        "layer_norm.large_mean",
        "feed_forward.value",
        "feed_forward.batch.independence",
    } <= passed
    # Half of the hidden units are a network of another size.
    assert "feed_forward.hidden.sum" in lacking


def test_causal_attention_is_tried_by_laws_that_are_not_about_causality() -> None:
    sizes = {"d_model": 12, "num_heads": 3, "max_length": 9, "is_causal": True}
    passed, lacking = passed_and_not(multi_head_attention=causal, limitations=("value_width",), fixed_values=sizes)
    about_others = {"multi_head.scale", "multi_head.large_logits", "multi_head.mask.value", "multi_head.biases"}
    assert about_others | {"multi_head.causal.no_future_leak", "multi_head.causal.unequal_lengths"} <= passed
    # They compare with a call without the flag, or hold without it only.
    assert {"multi_head.causal.own_position", "multi_head.tokens.permutation"} <= lacking


def test_groups_of_heads() -> None:
    sizes = {"d_model": 8, "num_heads": 4, "num_kv_heads": 2}
    passed, lacking = passed_and_not(multi_head_attention=grouped, limitations=("value_width",), fixed_values=sizes)
    assert {"multi_head.scale", "multi_head.keys.permutation", "multi_head.batch.independence"} <= passed
    # The heads written out are as many key/value heads as query heads; one head is another number of them.
    assert {"multi_head.grouped_heads", "multi_head.one_head", "multi_head.sum_of_heads"} <= lacking


def test_layers_and_embeddings() -> None:
    sizes = {
        "d_model": 8,
        "num_heads": 2,
        "d_ff": 5,
        "max_length": 7,
        "vocabulary_size": 11,
        "token_embedding.d_model": 6,
    }
    passed, lacking = passed_and_not(encoder_layer=encoder_layer, token_embedding=token_embedding, fixed_values=sizes)
    assert {"encoder_layer.pre_norm.value", "embedding.value", "embedding.vocabulary.permutation"} <= passed
    assert "embedding.one_hot" in lacking


def test_gain_is_found_at_the_width_that_there_is() -> None:
    def rms_norm(x, gamma, *, eps):
        demand(width=(x.shape[-1], 5))
        return reference.rms_norm(x, gamma, eps=eps, gain="one_plus_gamma").astype(x.dtype)

    report = check(SimpleNamespace(rms_norm=rms_norm, fixed_values={"d_model": 5}), tier="quick")
    assert report.verdict == "conforms"
    assert report.conventions["rms_norm_gain"] == "one_plus_gamma"


def test_a_mistake_is_found_at_the_sizes_that_there_are() -> None:
    def of_one_mask(x, context, weights, *, num_heads, is_causal):
        if x.shape[1] > 6:
            is_causal = False
        return causal(x, context, weights, num_heads=num_heads, is_causal=True) if is_causal else np.zeros_like(x)

    sizes = {"d_model": 12, "num_heads": 3, "max_length": 9, "is_causal": True}
    target = SimpleNamespace(multi_head_attention=of_one_mask, limitations=("value_width",), fixed_values=sizes)
    report = check(target, tier="quick", laws=("multi_head.scale",))
    assert report.verdict == "violates"
    example = report.results[0].counterexample
    assert example is not None
    shapes = [call.arguments["x"].shape for call in example.calls]
    assert all(shape[1] in (7, 8, 9) and shape[2] == 12 for shape in shapes)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (("d_model",), "fixed_values is a tuple; set it to a mapping"),
        ({3: 4}, "fixed_values has the key 3; the keys are names"),
        ({"d_modell": 8}, "no size or setting is called 'd_modell'; did you mean 'd_model'?"),
        ({"feed_fwd.d_ff": 8}, "'feed_fwd' is not an operation; did you mean 'feed_forward'?"),
        ({"layer_norm.d_ff": 8}, "layer_norm has no d_ff; it is one of feed_forward"),
        ({"d_model": 0}, "fixed_values['d_model'] is 0; set it to a positive integer"),
        ({"d_model": True}, "fixed_values['d_model'] is True; set it to a positive integer"),
        ({"num_heads": 2.0}, "fixed_values['num_heads'] is 2.0; set it to a positive integer"),
        ({"eps": -1e-5}, "fixed_values['eps'] is -1e-05; set it to a positive float"),
        ({"activation": "tanh"}, "fixed_values['activation'] is 'tanh'; set it to one of relu, gelu, silu"),
        ({"is_causal": False}, "fixed_values['is_causal'] is False; set it to True"),
        (
            {"d_model": 10, "num_heads": 4},
            "d_model = 10 and num_heads = 4 for multi_head_attention; the second must divide",
        ),
        (
            {"num_heads": 4, "num_kv_heads": 2},
            "multi_head_attention has no such keyword; give it the keyword num_kv_heads",
        ),
    ],
)
def test_values_that_cannot_be(declared: object, words: str) -> None:
    with pytest.raises(LoadError) as raised:
        load(SimpleNamespace(multi_head_attention=causal, fixed_values=declared))
    assert words in str(raised.value)


def test_an_operation_that_is_always_causal_says_so_by_its_keyword() -> None:
    def scaled_dot_product_attention(query, key, value):
        return value

    target = SimpleNamespace(
        scaled_dot_product_attention=scaled_dot_product_attention, fixed_values={"is_causal": True}
    )
    with pytest.raises(LoadError, match="no such keyword; give it the keyword is_causal"):
        load(target)


def test_the_page_lists_what_can_be_fixed() -> None:
    section = PAGE.partition("### Sizes and settings that have one value")[2].partition("###")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")]
    shown = {row[0].strip("`"): (row[1], tuple(name.strip("`") for name in row[2].split(", "))) for row in rows}
    assert shown == {name: (one.meaning, one.operations) for name, one in FIXABLE.items()}
