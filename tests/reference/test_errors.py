"""Errors say what was wrong, what was received, and what to do; here without the run-time shape checker."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from veriformer.reference import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    MultiHeadWeights,
    alibi_bias,
    attention_weights,
    causal_mask,
    feed_forward,
    gated_feed_forward,
    gelu,
    grouped_query_attention,
    layer_norm,
    masked_softmax,
    merge_heads,
    multi_head_attention,
    padding_mask,
    relative_position_bucket,
    rms_norm,
    rotary_embedding,
    scaled_dot_product_attention,
    sinusoidal_positions,
    softmax,
    split_heads,
    visible_keys,
)

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

Q, K, V = np.ones((2, 4, 3, 5)), np.ones((2, 4, 7, 5)), np.ones((2, 4, 7, 6))
WEIGHTS = MultiHeadWeights(np.ones((6, 8)), np.ones((6, 4)), np.ones((6, 6)), np.ones((12, 6)))
X, CONTEXT = np.ones((2, 3, 6)), np.ones((2, 7, 6))


def multi_head(num_heads=4, num_kv_heads=2, x=X, context=CONTEXT, **replaced):
    weights = dataclasses.replace(WEIGHTS, **replaced)
    return multi_head_attention(x, context, weights, num_heads=num_heads, num_kv_heads=num_kv_heads)


def forward(x=X, activation="relu", **replaced):
    weights = dataclasses.replace(FeedForwardWeights(np.ones((6, 8)), np.ones((8, 6))), **replaced)
    return feed_forward(x, weights, activation=activation)


def gated(gelu_form="erf", **replaced):
    weights = GatedFeedForwardWeights(np.ones((6, 8)), np.ones((6, 8)), np.ones((8, 6)))
    weights = dataclasses.replace(weights, **replaced)
    return gated_feed_forward(X, weights, activation="silu", gelu_form=gelu_form)


def attend(query=Q, key=K, value=V, **options):
    return scaled_dot_product_attention(query, key, value, **options)


# What is called, then what was wrong, what was received, and what to do.
CASES = {
    "mask of rank 3": (lambda: attend(mask=np.ones((2, 3, 7), bool)), "rank 4", "(2, 3, 7)", "mask[:, None]"),
    "mask of rank 1": (lambda: attend(mask=np.ones(7, bool)), "(L, S)", "(7,)", "insert"),
    "mask of numbers": (lambda: attend(mask=np.ones((3, 7))), "must be boolean", "float64", "mask != 0"),
    "mask too short": (lambda: attend(mask=np.ones((3, 6), bool)), "(3, 7)", "(3, 6)", "give every axis"),
    "mask per head": (
        lambda: attend(mask=np.ones((2, 2, 1, 7), bool)),
        "(2, 4, 3, 7)",
        "(2, 2, 1, 7)",
        "or 1",
    ),
    "boolean bias": (lambda: attend(bias=np.ones((3, 7), bool)), "bias must hold numbers", "bool", "as mask"),
    "bias of rank 3": (lambda: attend(bias=np.ones((4, 3, 7))), "bias must be", "(4, 3, 7)", "bias[:, None]"),
    "key width": (lambda: attend(key=np.ones((2, 4, 7, 4))), "key must have", "D = 4", "agree in D"),
    "value length": (lambda: attend(value=np.ones((2, 4, 6, 6))), "value must have", "S = 6", "agree in S"),
    "batch": (lambda: attend(key=np.ones((1, 4, 7, 5))), "key must have", "B = 1", "agree in B"),
    "grouped by mistake": (lambda: attend(K, K[:, :2], V[:, :2]), "key must have", "H = 2", "agree in H"),
    "query rank": (
        lambda: attend(query=np.ones((4, 3, 5))),
        "query must have 4 axes",
        "(4, 3, 5)",
        "reshape",
    ),
    "complex query": (lambda: attend(query=Q * 1j), "real numbers", "complex128", "convert"),
    "scale": (lambda: attend(scale=0.0), "positive", "0.0", "None for 1/√D"),
    "nan scale": (lambda: attend(scale=np.nan), "finite", "nan", "None for 1/√D"),
    "no width": (lambda: attend(Q[..., :0], K[..., :0]), "undefined", "width 0", "a scale"),
    "alignment": (
        lambda: attend(causal_alignment="left"),
        "causal_alignment",
        "'left'",
        "'top_left', 'bottom_right'",
    ),
    "empty row": (
        lambda: attend(empty_row="mean"),
        "empty_row",
        "'mean'",
        "'zeros', 'nan', 'mean_of_values'",
    ),
    "weights' key": (lambda: attention_weights(Q, K[..., :2]), "key must have", "D = 2", "agree in D"),
    "visible": (lambda: visible_keys((1, 1, 2, 3), mask=np.ones((2, 2), bool)), "(2, 3)", "(2, 2)", "or 1"),
    "groups": (
        lambda: grouped_query_attention(Q, K[:, :3], V[:, :3]),
        "must be a multiple",
        "= 4 and G, the number of key/value heads = 3",
        "divides it",
    ),
    "no groups": (
        lambda: grouped_query_attention(Q, K[:, :0], V[:, :0]),
        "a multiple",
        "heads = 0",
        "divides it",
    ),
    "kv heads": (
        lambda: multi_head(num_kv_heads=3),
        "num_heads must be a multiple",
        "num_kv_heads = 3",
        "divides",
    ),
    "zero heads": (lambda: multi_head(num_heads=0), "num_heads must be an integer", "got 0", "count"),
    "w_q": (lambda: multi_head(w_q=np.ones((6, 10))), "multiple of num_heads", "w_q = 10", "divides"),
    "w_k": (lambda: multi_head(w_k=np.ones((6, 8))), "w_k must have", "G·D = 8", "agree in G·D"),
    "w_v": (lambda: multi_head(w_v=np.ones((6, 5))), "multiple of num_kv_heads", "w_v = 5", "divides"),
    "w_o": (lambda: multi_head(w_o=np.ones((6, 6))), "w_o must have", "H·Dv = 6", "agree in H·Dv"),
    "torch's w_o": (lambda: multi_head(w_o=np.ones((6, 12))), "w_o must have", "H·Dv = 6", "agree in H·Dv"),
    "b_q": (lambda: multi_head(b_q=np.ones(6)), "b_q must have", "H·D = 6", "agree in H·D"),
    "b_o": (lambda: multi_head(b_o=np.ones(12)), "b_o must have", "E = 12", "agree in E"),
    "context": (lambda: multi_head(context=np.ones((2, 7, 5))), "context must have", "E = 5", "agree in E"),
    "x": (lambda: multi_head(x=np.ones((3, 6))), "x must have 3 axes", "(3, 6)", "reshape"),
    "split": (lambda: split_heads(np.ones((2, 3, 8)), 3), "multiple of num_heads", "H·D = 8", "divides"),
    "merge": (lambda: merge_heads(np.ones((2, 3, 8))), "heads must have 4 axes", "(2, 3, 8)", "reshape"),
    "negative length": (lambda: causal_mask(-1, 3), "query_length must be an integer", "-1", "count"),
    "fraction of a key": (lambda: causal_mask(3, 2.5), "key_length must be an integer", "2.5", "count"),
    "causal": (
        lambda: causal_mask(2, 3, "right"),
        "causal_alignment",
        "'right'",
        "'top_left', 'bottom_right'",
    ),
    "lengths rank": (
        lambda: padding_mask(np.ones((2, 2), int), 3),
        "vector of integers",
        "(2, 2)",
        "number of real",
    ),
    "lengths dtype": (lambda: padding_mask(np.ones(2), 3), "vector of integers", "float64", "number of real"),
    "too long": (
        lambda: padding_mask(np.array([2, 4]), 3),
        "between 0 and max_length = 3",
        "[2, 4]",
        "truncate",
    ),
    "odd rotary width": (
        lambda: rotary_embedding(Q, np.arange(3)),
        "rotary_dim must be even",
        "got 5",
        "use 4",
    ),
    "rotary_dim beyond the width": (
        lambda: rotary_embedding(Q[..., :4], np.arange(3), rotary_dim=6),
        "rotary_dim must be at most D = 4",
        "got 6",
        "a smaller one",
    ),
    "positions of another length": (
        lambda: rotary_embedding(Q[..., :4], np.arange(4)),
        "L = 3",
        "(1, 4)",
        "agree in L",
    ),
    "positions with heads": (
        lambda: rotary_embedding(Q[..., :4], np.ones((2, 4, 3), int)),
        "positions must have 2 axes",
        "(2, 4, 3)",
        "reshape",
    ),
    "positions that are no integers": (
        lambda: rotary_embedding(Q[..., :4], np.arange(3.0)),
        "positions must hold integers",
        "float64",
        "convert",
    ),
    "base zero": (
        lambda: rotary_embedding(Q[..., :4], np.arange(3), base=0.0),
        "base must be finite and positive",
        "got 0.0",
        "10000",
    ),
    "pairing": (
        lambda: rotary_embedding(Q[..., :4], np.arange(3), pairing="neox"),
        "pairing must be one of",
        "'neox'",
        "pass one of these",
    ),
    "no heads": (lambda: alibi_bias(0, 2, 2), "num_heads must be an integer of at least 1", "got 0", "pass a count"),
    "odd buckets": (
        lambda: relative_position_bucket(np.arange(3), num_buckets=9),
        "num_buckets must be even",
        "got 9",
        "pass 8 or 10",
    ),
    "bucket distance too small": (
        lambda: relative_position_bucket(np.arange(3), max_distance=8),
        "max_distance must be an integer of at least 9",
        "got 8",
        "pass a count",
    ),
    "relative positions that are no integers": (
        lambda: relative_position_bucket(np.arange(3.0)),
        "relative_position must hold integers",
        "float64",
        "convert",
    ),
    "odd width": (lambda: sinusoidal_positions(3, 5), "d_model must be even", "got 5", "use 6"),
    "layout": (
        lambda: sinusoidal_positions(3, 4, layout="half"),
        "layout",
        "'half'",
        "'interleaved', 'concatenated'",
    ),
    "gamma": (
        lambda: layer_norm(X, np.ones(5), np.ones(6), eps=0.1),
        "gamma must have",
        "E = 5",
        "agree in E",
    ),
    "beta": (
        lambda: layer_norm(X, np.ones(6), np.ones((1, 6)), eps=0.1),
        "beta must have 1 axes",
        "(1, 6)",
        "reshape",
    ),
    "eps": (lambda: layer_norm(X, np.ones(6), np.ones(6), eps=-1.0), "not negative", "-1.0", "1e-5"),
    "no components": (
        lambda: layer_norm(X[..., :0], X[0, 0], X[0, 0], eps=0.1),
        "last axis",
        "(2, 3, 0)",
        "pass",
    ),
    "eps placement": (
        lambda: layer_norm(X, np.ones(6), np.ones(6), eps=0.1, eps_placement="outside"),
        "eps_placement",
        "'outside'",
        "'inside_root', 'outside_root'",
    ),
    "rms gamma": (lambda: rms_norm(X, np.ones(5), eps=0.1), "gamma must have", "E = 5", "agree in E"),
    "rms eps": (lambda: rms_norm(X, np.ones(6), eps=np.nan), "finite", "nan", "1e-5"),
    "rms no components": (lambda: rms_norm(X[..., :0], X[0, 0], eps=0.1), "last axis", "(2, 3, 0)", "pass"),
    "rms gain": (
        lambda: rms_norm(X, np.ones(6), eps=0.1, gain="plus"),
        "gain",
        "'plus'",
        "'gamma', 'one_plus_gamma'",
    ),
    "gelu form": (lambda: gelu(X, "quick"), "form", "'quick'", "'erf', 'tanh', 'sigmoid'"),
    "complex gelu": (lambda: gelu(X * 1j), "real numbers", "complex128", "convert"),
    "activation": (lambda: forward(activation="swish"), "activation", "'swish'", "'relu', 'gelu', 'silu'"),
    "torch's w_1": (lambda: forward(w_1=np.ones((8, 6))), "w_1 must have", "E = 8", "agree in E"),
    "w_2": (lambda: forward(w_2=np.ones((7, 6))), "w_2 must have", "F = 7", "agree in F"),
    "b_1": (lambda: forward(b_1=np.ones(6)), "b_1 must have", "F = 6", "agree in F"),
    "b_2": (lambda: forward(b_2=np.ones(8)), "b_2 must have", "E = 8", "agree in E"),
    "x without axes": (lambda: forward(x=np.array(1.0)), "last axis", "scalar", "pass (..., E)"),
    "w_gate": (lambda: gated(w_gate=np.ones((5, 8))), "w_gate must have", "E = 5", "agree in E"),
    "w_up": (lambda: gated(w_up=np.ones((6, 7))), "w_up must have", "F = 7", "agree in F"),
    "w_down": (lambda: gated(w_down=np.ones((8, 5))), "w_down must have", "E = 5", "agree in E"),
    "gated form": (lambda: gated(gelu_form="fast"), "gelu_form", "'fast'", "'erf', 'tanh', 'sigmoid'"),
    "scalar": (lambda: softmax(np.array(1.0)), "at least one axis", "scalar", "vector"),
    "visible shape": (
        lambda: masked_softmax(np.ones((2, 3)), np.ones(3, bool)),
        "(2, 3)",
        "(3,)",
        "broadcast",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, wrong, received, remedy = CASES[name]
    with pytest.raises(ValueError) as caught:
        call()
    for part in (wrong, received, remedy):
        assert re.search(re.escape(part), str(caught.value)), str(caught.value)


def test_the_unspoiled_calls_succeed():
    assert attend().shape == (2, 4, 3, 6)
    assert multi_head().shape == (2, 3, 6)
    assert forward().shape == gated().shape == (2, 3, 6)
