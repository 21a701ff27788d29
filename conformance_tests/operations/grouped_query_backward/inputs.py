"""The inputs of the backward pass of grouped-query attention."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.operations.attention_backward.inputs import BackwardInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedBackwardInputs(BackwardInputs):
    """Queries, keys and values of fewer heads, and the gradient of the output: as in attention, but for the groups."""
