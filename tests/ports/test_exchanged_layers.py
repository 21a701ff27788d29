"""Whole layers that are exchanged are one difference, and what several situations show is one too."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.long


def exchange(parameters: dict[str, Any]) -> None:
    parameters["layers"] = parameters["layers"][::-1]


def test_exchanged_layers_are_one_difference(ported: Any) -> None:
    found = ported(exchange)
    assert found.verdict == "differ"
    (difference,) = found.differences
    assert difference.cause.name == "layers exchanged"
    assert difference.cause.sentence == (
        "the layers are exchanged: layer 0 of B has the weights of A's layer 1, layer 1 of B has the weights of A's "
        "layer 0"
    )
    assert found.changes == ("load layers 0 and 1 of A in their own order",)


def test_one_weight_of_another_layer_is_no_exchange(ported: Any) -> None:
    def change(parameters: dict[str, Any]) -> None:
        first, second = (layer["up"] for layer in parameters["layers"])
        first["kernel"], second["kernel"] = second["kernel"], first["kernel"]

    found = ported(change)
    assert len(found.differences) == 2
    assert {one.cause.name for one in found.differences} == {"elsewhere"}


def test_a_layer_twice_is_no_exchange(ported: Any) -> None:
    def change(parameters: dict[str, Any]) -> None:
        parameters["layers"] = [parameters["layers"][0]] * 2

    found = ported(change)
    assert found.verdict == "differ"
    assert "layers exchanged" not in {one.cause.name for one in found.differences}


def test_what_else_differs_in_exchanged_layers_is_not_lost(ported: Any) -> None:
    found = ported(exchange, eps=1e-3)
    names = [one.cause.name for one in found.differences]
    assert names.count("layers exchanged") == 1
    assert "norm_eps_value_mismatch" in names, names
