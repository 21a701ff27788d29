"""Mistakes that people make in merging, decoding, backward passes and residuals: no step can be proved with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import exp
from veriformer.spec.derivations import load_derivation, online_softmax
from veriformer.spec.derivations.steps import Step

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


def step_of(derivation: str, name: str) -> Step:
    return next(step for step in load_derivation(derivation).steps if step.name == name)


def assert_rejected(derivation: str, name: str, wrong: Any) -> None:
    result = replace(step_of(derivation, name), right=wrong).check()
    assert not result.proved
    assert not result.spot_checked


@pytest.mark.parametrize(("name", "wrong"), WRONG_MERGES.values(), ids=WRONG_MERGES)
def test_wrong_merges_are_found(name: str, wrong: Any) -> None:
    assert_rejected("online_softmax", name, wrong)
