"""What one pass does not show is found where the comparison is repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_decoder import LONGEST, TOKENS, decoder
from small_models import converted, gpt
from small_numpy import port
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison

pytestmark = pytest.mark.long

INPUTS = np.random.default_rng(3).integers(0, TOKENS, (2, 9))


def compared(fault: str) -> PortComparison:
    return compare_models(decoder(), decoder(fault), INPUTS)


def statuses(found: PortComparison) -> dict[str, str]:
    return {one.name: one.status for one in found.situations}


def test_a_model_does_as_itself_in_all_situations() -> None:
    found = compared("")
    assert found.verdict == "agree"
    assert statuses(found) == {
        "at length 1": "same",
        f"at length {LONGEST}": "same",
        "with padding on the right": "same",
        "with padding on the left": "same",
        "with a cache": "same",
        "in the gradients": "same",
        "in bfloat16": "measured",
    }
    assert next(one.apart for one in found.situations if one.status == "measured") == 1.0


@pytest.mark.parametrize(
    ("fault", "situation", "others"),
    [
        ("mask", "with padding on the left", ("with padding on the right", "with a cache")),
        ("left", "with padding on the left", ("with padding on the right", "at length 1")),
        ("length", "at length 17", ("at length 1", "with a cache")),
        ("cache", "with a cache", (f"at length {LONGEST}", "in the gradients")),
        ("gradient", "in the gradients", (f"at length {LONGEST}", "with a cache")),
        ("activation", "in the gradients", (f"at length {LONGEST}", "with a cache")),
    ],
)
def test_what_shows_in_one_situation_is_found_there_and_nowhere_else(
    fault: str, situation: str, others: tuple[str, ...]
) -> None:
    found = compared(fault)
    assert found.verdict == "differ"
    assert {one.situation for one in found.differences} == {situation}
    assert statuses(found)[situation] == "differs"
    assert all(statuses(found)[other] == "same" for other in others)


def test_the_cause_is_named_where_the_specification_knows_it() -> None:
    (mask, *_) = compared("mask").differences
    assert (mask.cause.name, mask.step) == ("padding_mask_ignored", "mask")
    (cache,) = compared("cache").differences
    assert cache.step == "cache"
    assert "from position 3 on; A gives the same" in cache.cause.sentence
    (gradient,) = compared("gradient").differences
    assert (gradient.path_b, gradient.cause.name) == ("wpe.weight", "gradient cut off")


def test_gradients_are_followed_back_from_the_loss_to_the_first_that_differs() -> None:
    found = compared("activation")
    (gradient,) = found.differences
    assert gradient.path_b in ("h.0.mlp.0.weight", "h.0.mlp.0.bias")
    assert gradient.cause.name == "gradient scaled"
    (situation,) = [one for one in found.situations if one.status == "differs"]
    assert "going back from the loss" in situation.sentence


def test_what_only_one_of_them_offers_is_not_held_against_the_other() -> None:
    model = gpt()
    found = compare_models(model, (port(), converted(model)), np.arange(10).reshape(2, 5))
    assert found.verdict == "agree"
    narrow = next(one for one in found.situations if one.name == "in bfloat16")
    assert (narrow.status, narrow.sentence) == ("unknown", "B is not run: models of numpy are not run in bfloat16")


def test_the_smallest_input_is_one_token_where_one_is_enough(ported: Any) -> None:
    def change(parameters: dict[str, Any]) -> None:
        parameters["last"]["gain"] = parameters["last"]["gain"] * 1.5

    assert ported(change).smallest == "tokens [[5]]"


def test_the_smallest_input_has_two_tokens_where_a_mask_is_missing(ported: Any) -> None:
    assert ported(sees=1).smallest == "tokens [[5, 5]]"


def test_nothing_global_is_left_changed(tokens: Any) -> None:
    jax = pytest.importorskip("jax")
    from small_jax import gpt_in_jax

    model = gpt()
    pairs = [(decoder(), decoder()), ((gpt_in_jax(), converted(model)), (gpt_in_jax(), converted(model)))]
    random_state = np.random.get_state()[1].copy()
    for first, second in pairs:
        assert compare_models(first, second, tokens).verdict == "agree"
    assert torch.get_default_dtype() == torch.float32
    assert not jax.config.jax_enable_x64
    assert np.array_equal(np.random.get_state()[1], random_state)
