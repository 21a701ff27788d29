"""Rarities of the gradients of a bias and of sinks: those of attention's gradients, and of what is added."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.drawing.rarity import Rarity
from veriformer.conformance_tests.operations.attention.rarities import VALUES, in_gradients, of_output_gradients

# The laws here of what laws of attention's gradients say, where they have another key.
_OTHER_KEYS = {"softcap.slope": "softcap.value"}


def _of_addition(name: str, law: str) -> tuple[Rarity, ...]:
    """Return the rarities where every call has the addition `name`, of whose gradient `law` says the value."""
    keys = {**_OTHER_KEYS, f"{name}.value": law}
    inherited = in_gradients((law,), *VALUES)
    return tuple(
        replace(one, laws=tuple(dict.fromkeys(keys.get(key, key) for key in one.laws)), needs=one.needs - {name})
        for one in (*inherited, *of_output_gradients((law,)))
    )


OF_BIAS = _of_addition("bias", "grad_bias")
OF_SINKS = _of_addition("sinks", "grad_sinks")
