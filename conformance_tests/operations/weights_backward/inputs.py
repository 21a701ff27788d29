"""The inputs of the backward pass of attention's weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention_backward.inputs import LogitsBackwardInputs


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsBackwardInputs(LogitsBackwardInputs):
    """Queries, keys and the gradient of the weights, (B, H, L, S); the result has two parts."""

    value: None = None

    def take_keys(self, index: Array) -> Self:
        """Return the keys at `index` with the gradients of their weights."""
        return replace(super().take_keys(index), grad_output=self.grad_output[..., index])
