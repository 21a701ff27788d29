"""A run of the whole suite visits the places where bugs hide: a list of regions, and a check that each is met.

The regions come from what hid real bugs: equal lengths, one head, one key, block sizes, shared masks, small logits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.conformance_tests import check
from veriformer.conformance_tests.cases.case import AttentionCase, Case
from veriformer.conformance_tests.cases.sizes import BLOCK_EDGES
from veriformer.conformance_tests.cases.spaces import EVERY_PALETTE, MASK_KINDS, MASK_SHAPES
from veriformer.conformance_tests.inputs import draw_inputs
from veriformer.conformance_tests.search import Outcome, Search

Region = Callable[[Any], bool]

LENGTHS: Mapping[str, Region] = {
    "L < S": lambda c: c.query_length < c.key_length,
    "L > S": lambda c: c.query_length > c.key_length,
    "L = S > 1": lambda c: c.query_length == c.key_length > 1,
    "one query, many keys": lambda c: c.query_length == 1 < c.key_length,
    "many queries, one key": lambda c: c.query_length > 1 == c.key_length,
    "keys beyond one block of 32, not a multiple": lambda c: c.key_length in (33, 65),
}
SIZES: Mapping[str, Region] = {
    **LENGTHS,
    "one sample": lambda c: c.batch == 1,
    "batch differs from heads": lambda c: 1 < c.batch != c.heads > 1,
    "one head": lambda c: c.heads == 1,
    "width one": lambda c: c.head_width == 1,
    "value wider than key": lambda c: c.value_width > c.head_width,
    "value narrower than key": lambda c: c.value_width < c.head_width,
}
FLAGS: Mapping[str, Region] = {
    "causal, L < S": lambda c: c.is_causal and c.query_length < c.key_length,
    "causal, L > S": lambda c: c.is_causal and c.query_length > c.key_length,
    "causal and mask": lambda c: c.is_causal and c.mask != "none",
    "nothing given": lambda c: not c.is_causal and c.mask == "none" and not c.bias,
    "empty rows": lambda c: c.mask == "empty_rows",
    "a mask of its own for every sample and head": lambda c: c.mask_shape == "full" and c.batch > 1 < c.heads,
    "amplitude 4": lambda c: c.amplitude == 4,
    "logits beyond exp": lambda c: c.amplitude >= 10,
    **{f"mask {kind}": lambda c, kind=kind: c.mask == kind for kind in MASK_KINDS},
    **{f"mask {shape}": lambda c, shape=shape: c.mask != "none" and c.mask_shape == shape for shape in MASK_SHAPES},
    **{f"values {palette}": lambda c, palette=palette: c.palette == palette for palette in EVERY_PALETTE},
}
LOGITS: Mapping[str, Region] = {
    "bias": lambda c: c.bias,
    "bias and mask": lambda c: c.bias and c.mask != "none",
    "bias, mask and causal flag": lambda c: c.bias and c.mask != "none" and c.is_causal,
    "scale below one": lambda c: c.scale is not None and c.scale < 1,
    "scale above one": lambda c: c.scale is not None and c.scale > 1,
}
GROUPS: Mapping[str, Region] = {
    "several groups of several heads": lambda c: 1 < c.kv_heads < c.heads,
    "one key/value head": lambda c: c.kv_heads == 1 < c.heads,
    "as many key/value heads as heads": lambda c: c.kv_heads == c.heads > 1,
}
VECTORS: Mapping[str, Region] = {
    "two components": lambda c: c.width == 2,
    "beyond a block of 16": lambda c: c.width in (16, 17),
    "beyond a block of 64": lambda c: c.width in (64, 65),
    "several rows of several samples": lambda c: c.batch > 1 < c.rows,
    "large": lambda c: c.amplitude == 4,
}
NETWORKS: Mapping[str, Region] = {
    "wider than long": lambda c: c.hidden > c.width,
    "narrower than long": lambda c: c.hidden < c.width,
    "one hidden unit": lambda c: c.hidden == 1,
    "beyond a block of 16": lambda c: max(c.hidden, c.width) > 16,
    "several rows of several samples": lambda c: c.batch > 1 < c.rows,
    "large": lambda c: c.amplitude == 4,
    "relu": lambda c: c.activation == "relu",
    "gelu": lambda c: c.activation == "gelu",
    "silu": lambda c: c.activation == "silu",
}
REGIONS: Mapping[str, Mapping[str, Region]] = {
    "scaled_dot_product_attention": {**SIZES, **FLAGS, **LOGITS},
    "grouped_query_attention": {**SIZES, **FLAGS, **LOGITS, **GROUPS},
    "multi_head_attention": {
        **SIZES,
        **FLAGS,
        "grouped": GROUPS["several groups of several heads"],
        "with biases": lambda c: c.biases,
        "without biases": lambda c: not c.biases,
    },
    "softmax": {**VECTORS, "one entry": lambda c: c.width == 1},
    "layer_norm": {
        **VECTORS,
        "eps that matters": lambda c: c.eps == 0.1,
        "eps that hardly does": lambda c: c.eps < 1e-4,
    },
    "rms_norm": {**VECTORS, "one component": lambda c: c.width == 1, "eps that matters": lambda c: c.eps == 0.1},
    "gelu": {**VECTORS, "one entry": lambda c: c.width == 1},
    "silu": {**VECTORS, "one entry": lambda c: c.width == 1},
    "feed_forward": {**NETWORKS, "biases": lambda c: c.biases, "no biases": lambda c: not c.biases},
    "gated_feed_forward": NETWORKS,
    "causal_mask": {
        **{k: v for k, v in LENGTHS.items() if "32" not in k},
        "beyond a block": lambda c: c.key_length > 8,
    },
    "padding_mask": {
        "several lengths": lambda c: len(set(c.lengths)) > 1,
        "no padding at all": lambda c: set(c.lengths) == {c.max_length},
        "padding in every sample": lambda c: max(c.lengths) < c.max_length,
        "one sample": lambda c: len(c.lengths) == 1,
        "one token": lambda c: 1 in c.lengths,
    },
    "rotary_embedding": {
        "positions of all samples": lambda c: not c.per_sample,
        "positions of each sample": lambda c: c.per_sample and c.batch > 1 < c.length,
        "positions that 16 bits do not count": lambda c: c.furthest >= 300,
        "another base": lambda c: c.base is not None and c.width > 2,
        "no base": lambda c: c.base is None and c.width > 2,
        "a part turns": lambda c: c.rotary_dim is not None and c.rotary_dim < c.width,
        "a part of several pairs turns": lambda c: c.rotary_dim is not None and 2 < c.rotary_dim < c.width,
        "one pair": lambda c: c.width == 2,
        "many pairs": lambda c: c.width == 64,
        "heads differ from length": lambda c: 1 < c.heads != c.length > 1,
        "one row": lambda c: c.length == 1,
    },
    "alibi_bias": {
        "a power of two of heads": lambda c: c.heads in (2, 4, 8, 16),
        "another count of heads": lambda c: c.heads in (3, 5, 6, 7, 12),
        "one head": lambda c: c.heads == 1,
        "as many queries as keys": lambda c: c.query_length == c.key_length > 1,
        "fewer queries than keys": lambda c: 1 < c.query_length < c.key_length,
        "one query, many keys": lambda c: c.query_length == 1 < c.key_length,
    },
    "relative_position_bucket": {
        "both directions": lambda c: c.bidirectional,
        "one direction": lambda c: c.bidirectional is False,
        "the numbers of T5": lambda c: (c.num_buckets, c.max_distance) == (32, 128),
        "few buckets": lambda c: c.num_buckets < 6,
        "beyond the furthest": lambda c: c.furthest > c.max_distance,
        "near ones only": lambda c: c.furthest <= c.num_buckets,
        "many": lambda c: c.rows * c.columns > 64,
    },
    "sinusoidal_positions": {
        "one pair": lambda c: c.d_model == 2,
        "wide": lambda c: c.d_model > 32,
        "one position": lambda c: c.length == 1,
        "many positions": lambda c: c.length > 20,
    },
    "token_embedding": {
        "one word": lambda c: c.vocabulary == 1,
        "more tokens than words": lambda c: c.batch * c.length > c.vocabulary > 1,
        "more words than tokens": lambda c: c.batch * c.length < c.vocabulary,
        "as many words as components": lambda c: c.vocabulary == c.width > 1,
        "several samples of several tokens": lambda c: c.batch > 1 < c.length,
        "scaled": lambda c: c.scaled and c.width > 1,
    },
    "cross_entropy": {
        "nothing ignored": lambda c: c.ignore == "none",
        "ignored value is no class": lambda c: c.ignore == "outside",
        "ignored value is minus one": lambda c: c.ignore == "minus_one",
        "ignored value is a class": lambda c: c.ignore == "inside",
        "ignored and smoothed": lambda c: c.ignore != "none" and c.label_smoothing,
        "smoothed by nothing": lambda c: c.label_smoothing == 0.0,
        "one class": lambda c: c.classes == 1,
        "many classes": lambda c: c.classes == 65,
        "one position": lambda c: c.batch * c.length == 1,
        "several samples of several positions": lambda c: c.batch > 1 < c.length,
        "large": lambda c: c.amplitude >= 30,
    },
}


def record_cases(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> dict[str, list[Case]]:
    """Return the cases of a run by operation; nothing is judged."""
    recorded: dict[str, list[Case]] = defaultdict(list)

    def judge(search: Search, case: Case | None) -> Outcome:
        if case is not None:
            recorded[search.subject.operation.name].append(case)
        return Outcome("holds", case)

    monkeypatch.setattr(Search, "judge", judge)
    check("numpy", **settings)
    return recorded


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Case]]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return record_cases(monkeypatch, operations=tuple(REGIONS))


@pytest.mark.parametrize("operation", REGIONS)
def test_a_standard_run_visits_every_region(recorded: dict[str, list[Case]], operation: str) -> None:
    drawn = recorded[operation]
    missed = [name for name, is_in in REGIONS[operation].items() if not any(map(is_in, drawn))]
    assert not missed


def test_lengths_meet_every_edge_of_a_block(recorded: dict[str, list[Case]]) -> None:
    attention = recorded["scaled_dot_product_attention"]
    edges = {length for block in BLOCK_EDGES for length in block}
    assert edges <= {case.query_length for case in attention}
    assert edges <= {case.key_length for case in attention}


def test_most_cases_are_small(recorded: dict[str, list[Case]]) -> None:
    attention = recorded["scaled_dot_product_attention"]
    small = [case for case in attention if max(case.query_length, case.key_length) <= 8]
    assert len(small) > len(attention) / 3


def test_every_dtype_gets_its_share(recorded: dict[str, list[Case]]) -> None:
    for operation in ("softmax", "layer_norm", "scaled_dot_product_attention", "multi_head_attention"):
        dtypes = [case.dtype for case in recorded[operation]]
        assert min(dtypes.count("float32"), dtypes.count("float64")) > len(dtypes) / 4


def test_large_logits_exceed_what_exp_holds(recorded: dict[str, list[Case]]) -> None:
    """Exp overflows beyond 88 in float32: without subtracting the maximum, and with one maximum for all rows."""
    highest, spread = 0.0, 0.0
    for case in recorded["scaled_dot_product_attention"]:
        if case.amplitude >= 10 and case.query_length * case.key_length < 200:
            inputs = draw_inputs("scaled_dot_product_attention", case)
            logits = inputs.query @ inputs.key.swapaxes(-1, -2) / np.sqrt(case.head_width)
            highest = max(highest, logits.max())
            spread = max(spread, np.ptp(logits.max(axis=-1)))
    assert highest > 89
    assert spread > 104


def test_some_rows_have_negative_logits_only(recorded: dict[str, list[Case]]) -> None:
    """A maximum that starts at zero instead of −∞ shows nowhere else."""
    lowest = 0.0
    for case in recorded["scaled_dot_product_attention"]:
        if isinstance(case, AttentionCase) and case.key_length < 9 and case.amplitude >= 4:
            inputs = draw_inputs("scaled_dot_product_attention", case)
            logits = inputs.query @ inputs.key.swapaxes(-1, -2) / np.sqrt(case.head_width)
            lowest = min(lowest, logits.max(axis=-1).min())
    assert lowest < -104


class Compiling(NumPyArrays):
    """NumPy that behaves as a framework that compiles, and counts for what it would."""

    compiles_per_shape = True

    def __init__(self) -> None:
        self.compiled: set[Any] = set()

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = {str(place): value for place, value in enumerate(positional)} | keywords
        self.compiled.add((function, *((name, _compiled_as(given[name])) for name in sorted(given))))
        return super().call(function, positional, keywords)


def _compiled_as(value: Any) -> Any:
    """Return what of an argument is compiled: shape and dtype, a flag's value, a number only as such."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.name
    return value if isinstance(value, bool) else type(value).__name__


def test_what_is_compiled_stays_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each combination costs jax about 0.12 s. More cases do not mean more of them: the quick tier meets nearly all."""
    from veriformer.adapters import numpy as built_in

    names = ("softmax", "scaled_dot_product_attention", "grouped_query_attention")
    framework = Compiling()
    implementation = Implementation(
        "compiling",
        framework,
        {name: getattr(built_in, name) for name in names},
        conventions=built_in.conventions,
        dtypes=("float32", "float16"),
        limitations=("value_width",),
    )
    report = check(implementation, tier="quick")
    assert report.counts["failed"] == report.counts["errors"] == 0
    tried = sum(result.status == "passed" for result in report.results)
    assert len(framework.compiled) <= 1.2 * tried
