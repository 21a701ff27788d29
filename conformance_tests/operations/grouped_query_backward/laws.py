"""Laws of gradients that query heads share; `attention_backward.laws` has those that plain attention has too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention_backward.inputs import BackwardInputs
from veriformer.conformance_tests.operations.attention_backward.laws.values import of_groups
from veriformer.conformance_tests.operations.gradients import equal
from veriformer.conformance_tests.operations.parts import agrees_in

_GROUPED = ("grouped_query_attention_backward",)
_ANY = AttentionSpace(mask="sometimes", causal="sometimes", scale="sometimes", least_keys=2)

judges("one_head_each", space=replace(_ANY, kv_heads="all", least_heads=2), operations=_GROUPED)(agrees_in())
judges("shared_head", space=replace(_ANY, kv_heads="one"), operations=_GROUPED)(agrees_in())


@judges("repeated_heads", space=replace(_ANY, grouped=True), operations=_GROUPED)
def repeated_heads(trial: Trial[BackwardInputs]) -> Verdict:
    """Repeating each key/value head for every query head that reads it gives gradients that add up to its own."""
    inputs = trial.inputs
    repeated = replace(
        inputs,
        key=np.repeat(inputs.key, inputs.group_size, axis=1),
        value=np.repeat(inputs.value, inputs.group_size, axis=1),
    )

    def summed(name: str, part: Array) -> Array:
        if name == "grad_query":
            return part
        # Of what is judged: all of it, or none.
        return of_groups(inputs, ~part) == 0 if part.dtype == bool else of_groups(inputs, part)

    return equal(trial, repeated, inputs, of_first=summed)
