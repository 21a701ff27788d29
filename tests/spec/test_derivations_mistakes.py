"""Mistakes that people make in merging, decoding, backward passes and residuals: no step can be proved with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Integer, KroneckerDelta, Sum, exp
from veriformer.spec.cost import decoding, operations, parameters
from veriformer.spec.derivations import (
    attention_backward,
    cost,
    decoding_cache,
    load_derivation,
    online_softmax,
    residual,
)
from veriformer.spec.derivations.expressions import Partial
from veriformer.spec.derivations.formulas import index
from veriformer.spec.derivations.provers import POLYNOMIAL_SUMS
from veriformer.spec.derivations.steps import Step

x, i, k = residual.x, residual.i, residual.k

WRONG_MERGES: dict[str, tuple[str, Any]] = {
    "the mean of the outputs": (
        "Two parts: the output",
        (online_softmax.attended(online_softmax.FIRST).output + online_softmax.attended(online_softmax.SECOND).output)
        / 2,
    ),
    "log-sum-exps added": ("Two parts: the log-sum-exp", exp(online_softmax.lse + online_softmax.other_lse)),
    "the running sum not rescaled": (
        "A running denominator, moved to another reference value",
        online_softmax.relative_mass(online_softmax.FIRST, online_softmax.pivot),
    ),
    "the weights swapped": (
        "Only the difference of the log-sum-exps matters to the output",
        online_softmax.output
        + (online_softmax.other_output - online_softmax.output)
        / (1 + exp(online_softmax.other_lse - online_softmax.lse)),
    ),
}
_BACK = attention_backward
WRONG_GRADIENTS: dict[str, tuple[str, Any]] = {
    "no D": (
        "The gradient of the logits: dS = P ∘ (dP − D)",
        _BACK.weight(_BACK.s, _BACK.t, _BACK.free_score) * _BACK.grad_weight(_BACK.s, _BACK.t),
    ),
    "no scale in dQ": (
        "The gradient of the queries: dQ = σ dS K",
        _BACK.grad_query(_BACK.s, _BACK.a) / _BACK.scale,
    ),
    "scale applied twice in dK": (
        "The gradient of the keys: dK = σ dSᵀ Q",
        _BACK.scale * _BACK.grad_key(_BACK.s, _BACK.a),
    ),
    "the mean over query heads": (
        "Heads that share a value add up their gradients",
        _BACK.SHARED[0].right / _BACK.heads,
    ),
}
WRONG_RESIDUALS: dict[str, tuple[str, Any]] = {
    "no identity": ("The Jacobian of a residual layer is I + ∂f", Partial(residual.network(i, residual.OWN), x[k])),
    "identity counted twice": (
        "One layer more: the identity term stays, with coefficient 1",
        KroneckerDelta(i, k) + residual.product(i, k),
    ),
    "post-norm keeps the identity": (
        "Post-norm: the norm's Jacobian multiplies the identity too",
        residual.identity_plus(residual.sublayer, i, k),
    ),
    "one direction lost": ("Two of d directions are lost in a post-norm layer", residual.d - 1),
    "zero sublayer gives zero": ("A residual layer whose sublayer is zero is the identity", Integer(0)),
}
WRONG_STEPS: dict[str, tuple[str, Any]] = {
    "the new keys are not cached": (
        "A new token's output in the full pass is attention to cached and new keys",
        decoding_cache.from_parts(decoding_cache.CACHED),
    ),
    "the cache is not read": (
        "A new token's output in the full pass is attention to cached and new keys",
        decoding_cache.from_parts(decoding_cache.NEW),
    ),
    "the mask of a step starts at the top left": (
        "The mask of a step is the bottom right one",
        decoding_cache.full_margin(decoding_cache.row, decoding_cache.j),
    ),
    "the prompt is cut short": (
        "Two steps are one",
        decoding_cache.attended(decoding_cache.WHOLE)(decoding_cache.i, decoding_cache.e),
    ),
}
WRONG_COSTS: dict[str, tuple[str, Any]] = {
    "a multiply-add counted once": ("Attention", cost.H * cost.L * cost.S * (cost.D + cost.Dv + 5 + cost.phi)),
    "causal attention as exactly half": (
        "Causal attention that skips what is hidden",
        cost.weighted(operations.attention(cost.H, cost.L, cost.P + cost.L, cost.D, cost.Dv)) / 2,
    ),
    "keys and values of all heads": (
        "Multi-head attention",
        cost.weighted(operations.multi_head_attention(cost.L, cost.S, cost.E, cost.H, cost.H, cost.D)),
    ),
    "T times the last pass": (
        "T tokens without a cache",
        cost.layers * cost.T * cost.weighted(operations.encoder_layer(cost.T, cost.E, cost.H, cost.D, cost.F)),
    ),
    "keys only in the cache": (
        "Numbers in the cache",
        decoding.cache_numbers(cost.T, cost.layers, cost.G, cost.D) / 2,
    ),
    "no biases": (
        "Parameters of multi-head attention",
        parameters.multi_head_attention(cost.E, cost.H, cost.G, cost.D, bias=False),
    ),
}


def step_of(derivation: str, name: str) -> Step:
    return next(step for step in load_derivation(derivation).steps if step.name == name)


def assert_rejected(derivation: str, name: str, wrong: Any) -> None:
    result = replace(step_of(derivation, name), right=wrong).check()
    assert not result.proved
    assert not result.spot_checked


@pytest.mark.parametrize(("name", "wrong"), WRONG_MERGES.values(), ids=WRONG_MERGES)
def test_wrong_merges_are_found(name: str, wrong: Any) -> None:
    assert_rejected("online_softmax", name, wrong)


@pytest.mark.parametrize(("name", "wrong"), WRONG_GRADIENTS.values(), ids=WRONG_GRADIENTS)
def test_wrong_gradients_are_found(name: str, wrong: Any) -> None:
    assert_rejected("attention_backward", name, wrong)


@pytest.mark.parametrize(("name", "wrong"), WRONG_RESIDUALS.values(), ids=WRONG_RESIDUALS)
def test_wrong_residuals_are_found(name: str, wrong: Any) -> None:
    assert_rejected("residual", name, wrong)


@pytest.mark.parametrize(("name", "wrong"), WRONG_STEPS.values(), ids=WRONG_STEPS)
def test_wrong_decoding_steps_are_found(name: str, wrong: Any) -> None:
    assert_rejected("decoding_cache", name, wrong)


@pytest.mark.parametrize(("name", "wrong"), WRONG_COSTS.values(), ids=WRONG_COSTS)
def test_wrong_costs_are_found(name: str, wrong: Any) -> None:
    assert_rejected("cost", name, wrong)


def test_sums_of_powers_need_polynomials() -> None:
    place = index("i")
    step = Step("not a polynomial", Sum(1 / place, (place, 1, cost.T)), cost.T, "", POLYNOMIAL_SUMS)
    assert "need a polynomial in i" in step.check().proof.detail
