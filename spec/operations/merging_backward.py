"""The gradients of merged attention, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.merging import MERGE_ATTENTION

MERGE_ATTENTION_BACKWARD = backward_of(
    MERGE_ATTENTION,
    ("output_a", "lse_a", "output_b", "lse_b"),
    summary="The gradients of a loss with respect to both parts, given those of the merged output and log-sum-exp.",
    formula="d output_a = w_a dO, d lse_a = w_a w_b Σ dO (output_a − output_b) + w_a d lse, w_a = e^(lse_a − lse); "
    "likewise for b",
    source="Milakov & Gimelshein 2018, section 3.1, by the chain rule",
)

OPERATIONS = (MERGE_ATTENTION_BACKWARD,)
