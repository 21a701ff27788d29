"""A mistake in a port, or in its converter, is found in its place, with its cause."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_llama import Layer, in_pairs, llama
from small_models import GPT, gpt
from veriformer.conformance_tests.ports.compare_models import compare_models

pytestmark = pytest.mark.long

Change = Callable[[dict[str, Any]], object]


def _transpose(part: str) -> Change:
    def change(parameters: dict[str, Any]) -> None:
        layer = parameters["layers"][1]
        layer[part]["kernel"] = layer[part]["kernel"].T.copy()

    return change


def _exchange(first: str, second: str) -> Change:
    def change(parameters: dict[str, Any]) -> None:
        layer = parameters["layers"][1]
        layer[first], layer[second] = layer[second], layer[first]

    return change


def _permute_heads(parameters: dict[str, Any]) -> None:
    kernel = parameters["layers"][1]["key"]["kernel"]
    parameters["layers"][1]["key"]["kernel"] = kernel.reshape(len(kernel), 3, -1)[:, [2, 0, 1]].reshape(kernel.shape)


def _reshape(parameters: dict[str, Any]) -> None:
    kernel = parameters["layers"][1]["value"]["kernel"]
    parameters["layers"][1]["value"]["kernel"] = kernel.reshape(len(kernel), -1, 3).swapaxes(1, 2).reshape(kernel.shape)


def _scale(parameters: dict[str, Any]) -> None:
    parameters["layers"][1]["out"]["kernel"] = parameters["layers"][1]["out"]["kernel"] * np.float32(np.sqrt(12))


def _forget(parameters: dict[str, Any]) -> None:
    parameters["layers"][1]["up"]["bias"] = np.zeros_like(parameters["layers"][1]["up"]["bias"])


def _round(parameters: dict[str, Any]) -> None:
    kernel = parameters["layers"][1]["down"]["kernel"]
    parameters["layers"][1]["down"]["kernel"] = kernel.astype(np.float16).astype(np.float32)


def _reverse(parameters: dict[str, Any]) -> None:
    parameters["layers"].reverse()


def _subtract(parameters: dict[str, Any]) -> None:
    parameters["layers"][1]["norm2"]["gain"] = parameters["layers"][1]["norm2"]["gain"] - 1


_WEIGHTS = [
    (_transpose("query"), "query", "weight", "transposed"),
    (_transpose("out"), "attention_output", "weight", "transposed"),
    (_transpose("up"), "hidden", "weight", "transposed"),
    (_exchange("query", "key"), "query", "weight", "elsewhere"),
    (_exchange("norm1", "norm2"), "norm", "weight", "elsewhere"),
    (_permute_heads, "key", "weight", "heads permuted"),
    (_reshape, "value", "weight", "component major"),
    (_scale, "attention_output", "factor", "scaled"),
    (_forget, "hidden", "weight", "constant"),
    (_round, "feed_forward", "precision", "rounded"),
    (_subtract, "norm", "weight", "one off"),
]


@pytest.mark.parametrize(("change", "step", "kind", "name"), _WEIGHTS)
def test_a_mistake_of_the_converter(ported: Any, change: Change, step: str, kind: str, name: str) -> None:
    found = ported(change)
    assert found.verdict == "differ"
    assert found.exit_status == 1
    first = found.differences[0]
    assert (first.layer, first.step, first.cause.kind, first.cause.name) == (1, step, kind, name)
    assert first.path_a.startswith("h.1") and first.path_b.startswith("layers.1")
    assert {one.layer for one in found.differences} == {1}
    assert found.changes


def test_exchanged_layers_are_each_others(ported: Any) -> None:
    found = ported(_reverse)
    assert found.verdict == "differ"
    (difference,) = found.differences
    assert (difference.cause.name, difference.layer) == ("layers exchanged", 0)
    assert "layer 0 of B has the weights of A's layer 1" in difference.cause.sentence


_CODE: list[tuple[dict[str, Any], int | None, str, str, str]] = [
    ({"eps": 1e-6}, 0, "norm", "convention", "norm_eps_value_mismatch"),
    ({"scale": 1.5}, 0, "logits", "convention", "scale"),
    ({"scale": 2.0}, 0, "logits", "mistake", "scale_missing"),
    ({"sees": 1}, 0, "mask", "mistake", "causal_diagonal_off_by_one"),
    ({"offset": 1}, None, "positions", "convention", "positions"),
    ({"gelu": lambda x: np.maximum(x, 0.0)}, 0, "activation", "mistake", "ffn_activation_arg_ignored"),
    ({"gelu": lambda x: x / (1 + np.exp(-1.702 * x))}, 0, "activation", "convention", "gelu_quick_vs_erf"),
]


@pytest.mark.parametrize(("mistake", "layer", "step", "kind", "name"), _CODE)
def test_a_mistake_of_the_code(
    ported: Any, mistake: dict[str, Any], layer: int | None, step: str, kind: str, name: str
) -> None:
    found = ported(**mistake)
    first = found.differences[0]
    assert found.verdict == "differ"
    assert (first.layer, first.step, first.cause.kind, first.cause.name) == (layer, step, kind, name)
    # The same thing in both layers is two differences, and nothing else is one.
    assert {one.cause.name for one in found.differences} == {name}


def test_two_independent_mistakes_are_both_found(ported: Any) -> None:
    found = ported(_transpose("out"), eps=1e-6)
    assert {one.cause.name for one in found.differences} == {"norm_eps_value_mismatch", "transposed"}


def test_rotary_pairs_in_another_order_without_their_weights(tokens: Any) -> None:
    found = compare_models(llama(), llama(interleaved=True), tokens)
    assert found.verdict == "differ"
    assert {one.cause.name for one in found.differences} == {"rope_interleaved_vs_half"}
    assert {one.cause.kind for one in found.differences} == {"convention"}
    # Of keys too, it is the line that turns them, and not the one that repeats them for the groups.
    turning = inspect.getsourcelines(Layer.turned)
    assert {turning[0][one.line_b - turning[1]].split()[0] for one in found.differences} == {"return"}


def test_weights_in_the_order_of_other_rotary_pairs(tokens: Any) -> None:
    found = compare_models(llama(), in_pairs(llama()), tokens)
    assert found.verdict == "differ"
    assert {one.cause.name for one in found.differences} == {"rotary order"}
    assert {one.cause.kind for one in found.differences} == {"weight"}


def test_a_layer_that_is_missing(tokens: Any) -> None:
    model = gpt()
    shorter = GPT()
    shorter.load_state_dict(model.state_dict())
    del shorter.h[0]
    found = compare_models(model, shorter, tokens)
    assert found.verdict == "differ"
    assert [(pair.path_a, pair.path_b) for pair in found.pairs if pair.status == "unmatched"] == [
        ("h.0.attn", ""),
        ("h.0", ""),
    ]


def test_an_embedding_that_is_no_longer_tied(tokens: Any) -> None:
    class Untied(GPT):
        def forward(self, tokens: Any) -> Any:
            self.wte, tied = self.other, self.wte
            try:
                hidden = super().forward(tokens)
            finally:
                self.wte = tied
            return hidden

    model = gpt()
    other = GPT()
    other.load_state_dict(model.state_dict())
    with torch_no_grad():
        other.wte.weight[3:] += 1.0
    found = compare_models(model, other, tokens)
    assert found.verdict == "differ"
    first = found.differences[0]
    assert (first.step, first.cause.kind, first.cause.name) == ("embedding", "weight", "in part")
    assert "26 of 29 rows" in first.cause.sentence


def torch_no_grad() -> Any:
    """Return torch's context without gradients."""
    import torch

    return torch.no_grad()


def test_neighbours_that_are_turned_and_stand_half_a_width_apart(tokens: Any) -> None:
    """The order afterwards is that of queries and keys alike, so that it does not matter."""

    def apart(layer: Any) -> Any:
        turned = layer.turned

        def found(x: Any) -> Any:
            return turned(x).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)

        return found

    model = in_pairs(llama(interleaved=True))
    for layer in model.layers:
        layer.turned = apart(layer)
    assert compare_models(llama(), model, tokens).verdict == "agree"
    without = llama(interleaved=True)
    for layer in without.layers:
        layer.turned = apart(layer)
    found = compare_models(llama(), without, tokens)
    assert {one.cause.name for one in found.differences} == {"rope_interleaved_vs_half"}


def _store(parameters: dict[str, Any]) -> None:
    """Round a matrix as one that was merged in float32 is: by a part of its largest entry."""
    network = parameters["layers"][1]["up"]
    weight = network["kernel"]
    signs = np.where(np.arange(weight.size) % 3, 1.0, -1.0).reshape(weight.shape)
    network["kernel"] = (weight + 3e-7 * np.abs(weight).max() * signs).astype(np.float32)


def test_what_storing_in_float32_costs_is_no_difference(ported: Any) -> None:
    found = ported(_store)
    assert found.verdict == "agree"
    assert found.exit_status == 0
    assert [one.relation for one in found.weights if one.relation != "same"] == ["stored"]
    assert 1e-9 < found.apart < 1e-5
