"""What is drawn on purpose: every rarity is a case of a law that is about the formula, and mistakes there are seen."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters import numpy as built_in
from veriformer.conformance_tests import check
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.rarities import RareCase, rare_cases
from veriformer.conformance_tests.operations.suites import suites
from veriformer.spec.operations import OPERATIONS

Array = np.ndarray


def limits_of(operation: str, **changes: Any) -> Limits:
    features = frozenset(OPERATIONS[operation].features)
    architectures = ("bert", "vaswani", "bart", "gpt", "llama")
    return Limits(operation, ("float32", "float64"), features, architectures, **{"reach": 2, **changes})


RARITIES = {name: suite.rarities for name, suite in suites().items() if suite.rarities}


@pytest.mark.parametrize("operation", RARITIES)
def test_every_rarity_belongs_to_a_law_of_its_operation_and_can_be_drawn(operation: str) -> None:
    known = {law.statement.claim.key for law in laws().values() if law.statement.operation.name == operation}
    wanted = {key for rarity in RARITIES[operation] for key in rarity.laws}
    assert wanted <= known
    for key in wanted:
        for case in rare_cases(key, limits_of(operation)):
            assert draw_inputs(operation, case).arguments()
            assert case.describe()


@pytest.mark.parametrize("operation", RARITIES)
def test_a_thorough_run_meets_every_rarity_and_a_quick_one_each_that_is_cheap_once(operation: str) -> None:
    keys = {key for rarity in RARITIES[operation] for key in rarity.laws}
    cheap = sum(rarity.reach == 0 for rarity in RARITIES[operation])
    met = {reach: sum(len(rare_cases(key, limits_of(operation, reach=reach))) for key in keys) for reach in (0, 2)}
    assert met[0] == cheap
    assert met[2] == sum(len(set(rarity.laws)) for rarity in RARITIES[operation])


def test_frameworks_that_compile_get_few_and_others_at_another_seed() -> None:
    compiling = [limits_of("softmax", compiles_per_shape=True, reach=1, seed=seed) for seed in range(60)]
    drawn = [rare_cases("value", limits) for limits in compiling]
    assert {len(cases) for cases in drawn} == {0, 1}
    assert len({case.describe() for cases in drawn for case in cases}) > 10


def test_what_float16_cannot_hold_is_not_drawn_in_it() -> None:
    limits = Limits("softmax", ("float16",), frozenset(), reach=2)
    assert not any(kind in ("huge", "large") for case in rare_cases("value", limits) for _, kind in case.changes)


def test_a_change_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError, match="upside_down"):
        draw_inputs("softmax", RareCase(VectorCase(1, 1, 2), (("x", "upside_down"),)))
    with pytest.raises(KeyError, match="SoftmaxInputs has no y"):
        draw_inputs("softmax", RareCase(VectorCase(1, 1, 2), (("y", "absent"),)))


def alone(operation: str, wrong: Callable[..., Array]) -> SimpleNamespace:
    return SimpleNamespace(framework="numpy", conventions=built_in.conventions, **{operation: wrong})


def attention(**rights: Any) -> Callable[..., Array]:
    """Return attention that is wrong where the keys of `rights` say so."""

    def scaled_dot_product_attention(
        query: Array, key: Array, value: Array, *, mask: Array | None = None, is_causal: bool = False
    ) -> Array:
        settings = {"mask": mask, "is_causal": is_causal} | {
            name: change(query, mask, is_causal) for name, change in rights.items()
        }
        return built_in.scaled_dot_product_attention(query, key, value, **settings)

    return scaled_dot_product_attention


def spread_along_heads(query: Array, mask: Array | None, _: bool) -> Array | None:
    """Read a mask (B, 1, L, S) as (1, H, L, S), where that fits."""
    if mask is None or mask.ndim != 4 or mask.shape[1] != 1 or mask.shape[0] != query.shape[1]:
        return mask
    return mask.transpose(1, 0, 2, 3)


def layer_norm_of_absolute_gain(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    return built_in.layer_norm(x, np.abs(gamma), beta, eps=eps)


def rms_norm_of_absolute_gain(x: Array, gamma: Array, *, eps: float) -> Array:
    return built_in.rms_norm(x, np.abs(gamma), eps=eps)


def gain_zero_for_one(x: Array, gamma: Array, *, eps: float) -> Array:
    return built_in.rms_norm(x, np.where(gamma == 0, 1, gamma).astype(gamma.dtype), eps=eps)


def softmax_of_128_columns(x: Array) -> Array:
    result = np.zeros_like(x)
    result[..., :128] = built_in.softmax(x[..., :128])
    return result


def frozen_sinusoids(length: int, d_model: int) -> Array:
    return built_in.sinusoidal_positions(length, d_model)[np.minimum(np.arange(length), 64)]


def open_below_row_64(query_length: int, key_length: int) -> Array:
    mask = built_in.causal_mask(query_length, key_length).copy()
    mask[64:] = True
    return mask


def positions_in_8_bits(x: Array, positions: Array, *, base: float = 10000.0, rotary_dim: int | None = None) -> Array:
    return built_in.rotary_embedding(x, positions % 256, base=base, rotary_dim=rotary_dim)


def second_bias_needs_the_first(x: Array, weights: Any, *, activation: Any) -> Array:
    matrices = SimpleNamespace(w_1=weights.w_1, w_2=weights.w_2, b_1=weights.b_1, b_2=weights.b_2)
    matrices.b_2 = None if weights.b_1 is None else weights.b_2
    return built_in.feed_forward(x, matrices, activation=activation)


def groups_of_four(query: Array, key: Array, value: Array) -> Array:
    groups = query.shape[1] // key.shape[1]
    if groups == 4:
        key = key[:, ::-1]
    return built_in.grouped_query_attention(query, key, value)


def wide_heads(query: Array, key: Array, value: Array) -> Array:
    scale = query.shape[-1] ** -0.5 if query.shape[-1] <= 16 else 1.0 / query.shape[-1]
    return built_in.scaled_dot_product_attention(query, key, value, scale=scale)


def head_of_64_components(x: Array, weights: Any, *, mask: Array | None = None) -> Array:
    projections = {name: array[:, :64] for name, array in vars(weights).items()}
    result = built_in.single_head_attention(x, SimpleNamespace(**{**projections, "w_v": weights.w_v}), mask=mask)
    return result if weights.w_q.shape[1] > 64 else built_in.single_head_attention(x, weights, mask=mask)


def sum_of_256_classes(
    logits: Array,
    targets: Array,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Any = "mean",
) -> Array:
    if reduction == "sum" and logits.shape[-1] > 256:
        logits = np.where(np.arange(logits.shape[-1]) < 256, logits, -1e4).astype(logits.dtype)
    return built_in.cross_entropy(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )


def weights_without_large_softcaps(
    query: Array, key: Array, *, mask: Array | None = None, softcap: float | None = None
) -> Array:
    kept = None if softcap is not None and softcap >= 30 else softcap
    return built_in.attention_weights(query, key, mask=mask, softcap=kept)


def decoding_of_8_bit_positions(
    tokens: Array, cache: Any, weights: Any, config: Any, *, positions: Array | None = None
) -> Any:
    kept = None if positions is None else positions % 256
    return built_in.decode_step(tokens, cache, weights, config, positions=kept)


SURVIVORS: tuple[tuple[str, Callable[..., Array]], ...] = (
    ("layer_norm", layer_norm_of_absolute_gain),
    ("rms_norm", rms_norm_of_absolute_gain),
    ("rms_norm", gain_zero_for_one),
    ("softmax", softmax_of_128_columns),
    ("sinusoidal_positions", frozen_sinusoids),
    ("causal_mask", open_below_row_64),
    ("rotary_embedding", positions_in_8_bits),
    ("feed_forward", second_bias_needs_the_first),
    ("grouped_query_attention", groups_of_four),
    ("scaled_dot_product_attention", wide_heads),
    ("scaled_dot_product_attention", attention(mask=spread_along_heads)),
    ("single_head_attention", head_of_64_components),
    ("cross_entropy", sum_of_256_classes),
    ("attention_weights", weights_without_large_softcaps),
    ("decode_step", decoding_of_8_bit_positions),
)


@pytest.mark.parametrize(("operation", "wrong"), SURVIVORS, ids=lambda given: getattr(given, "__name__", str(given)))
def test_what_survived_before_is_seen_by_a_standard_run(operation: str, wrong: Callable[..., Array]) -> None:
    report = check(
        alone(operation, wrong), operations=(operation,), fail_fast=True, shrink=False, diagnosis=False, seed=0
    )
    assert report.verdict == "violates"


def test_a_rare_counterexample_is_shown_with_its_values() -> None:
    report = check(
        alone("rms_norm", rms_norm_of_absolute_gain), operations=("rms_norm",), laws=("rms_norm.value",), seed=0
    )
    (result,) = report.results
    assert result.counterexample is not None
    assert isinstance(result.counterexample.case, RareCase)
    assert "gamma" in result.counterexample.case.describe()
    assert result.counterexample.case.size <= 8
