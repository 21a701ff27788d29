"""Correct ports agree, in whatever layout their weights are."""

from __future__ import annotations

from typing import Any

import pytest
from small_llama import in_pairs, llama
from small_models import converted, gpt
from small_numpy import port
from veriformer.conformance_tests import compare
from veriformer.conformance_tests.ports.compare_models import compare_models

pytestmark = pytest.mark.long


@pytest.mark.parametrize("seed", range(3))
def test_torch_and_numpy(seed: int, tokens: Any) -> None:
    model = gpt(seed)
    found = compare_models(model, (port(), converted(model)), tokens)
    assert found.verdict == "agree"
    assert not found.differences and not found.inside
    assert {pair.status for pair in found.pairs} == {"same"}
    assert {weight.relation for weight in found.weights} == {"same"}
    assert found.apart < 1e-12


def test_torch_and_jax(tokens: Any) -> None:
    pytest.importorskip("jax")
    from small_jax import gpt_in_jax

    model = gpt()
    found = compare_models(model, (gpt_in_jax(), converted(model)), tokens)
    assert found.verdict == "agree"
    assert found.frameworks == ("torch", "jax")


def test_the_other_way_round(tokens: Any) -> None:
    model = gpt()
    assert compare_models((port(), converted(model)), model, tokens).verdict == "agree"


def test_inputs_are_guessed_and_said() -> None:
    model = gpt()
    found = compare_models(model, (port(), converted(model)))
    assert found.verdict == "agree"
    assert any("since no inputs were handed over" in notice for notice in found.notices)


def test_rotary_pairs_in_another_order_with_their_weights(tokens: Any) -> None:
    found = compare_models(llama(), in_pairs(llama(interleaved=True)), tokens)
    assert found.verdict == "agree"
    assert not found.differences


def test_heads_in_another_order_in_all_weights_are_a_difference_inside(ported: Any) -> None:
    def permute(parameters: dict[str, Any]) -> None:
        layer = parameters["layers"][1]
        for name in ("query", "key", "value"):
            kernel, bias = layer[name]["kernel"], layer[name]["bias"]
            layer[name]["kernel"] = kernel.reshape(len(kernel), 3, -1)[:, [1, 2, 0]].reshape(kernel.shape)
            layer[name]["bias"] = bias.reshape(3, -1)[[1, 2, 0]].ravel()
        out = layer["out"]["kernel"]
        layer["out"]["kernel"] = out.reshape(3, -1, out.shape[1])[[1, 2, 0]].reshape(out.shape)

    found = ported(permute)
    assert found.verdict == "inside"
    assert found.exit_status == 0
    assert {one.cause.name for one in found.inside} == {"heads permuted"}


def test_rotary_positions_from_one_are_a_difference_inside(tokens: Any) -> None:
    found = compare_models(llama(), llama(first=1), tokens)
    assert found.verdict == "inside"
    assert {one.step for one in found.inside} == {"rotary"}


def test_what_initial_weights_hide_is_said(tokens: Any) -> None:
    from small_models import GPT

    model = GPT()
    with_zeros = model.h[0].attn.c_attn.bias
    with_zeros.data.zero_()
    found = compare_models(model, (port(), converted(model)), tokens)
    assert any("in every entry" in notice and "ln_1.weight" in notice for notice in found.notices)


def test_the_public_function_takes_models(tokens: Any) -> None:
    model = gpt()
    found = compare(model, (port(), converted(model)), inputs=tokens)
    assert found.verdict == "agree"
    with pytest.raises(ValueError, match="operations"):
        compare(model, model, inputs=tokens, tier="quick")
