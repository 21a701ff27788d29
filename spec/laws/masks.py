"""Causal and padding masks."""

from __future__ import annotations

from veriformer.spec.laws.interface import BOOLEAN, WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.masks import CAUSAL_MASK, PADDING_MASK

VASWANI_MASK = "Vaswani et al. 2017, section 3.2.3"
CAUSAL_MASK_VALUE = Property(
    key="value",
    statement="A query may see its own position and every earlier one, and no later one.",
    formula="mask[i, j] = (j ≤ i), or (j ≤ i + S − L) when bottom-right",
    source=f"{VASWANI_MASK}; seed document 000, worked example 3",
    reason="the definition",
    conventions=("causal_alignment",),
)
CAUSAL_MASK_DIAGONAL = Property(
    key="own_position",
    statement="In a square mask every query may see itself.",
    formula="L = S: mask[i, i] = True",
    source="seed document 003: current and previous tokens",
    reason="the definition, with j = i",
)
CAUSAL_MASK_PREFIX = Property(
    key="prefix",
    statement="The mask of a shorter sequence is the corner of the mask of a longer one.",
    formula="mask(L, L)[: n, : n] = mask(n, n)",
    source=VASWANI_MASK,
    reason="the definition: j ≤ i does not name the lengths",
)
PADDING_MASK_VALUE = Property(
    key="value",
    statement="The mask is True at real tokens and False at padding, which is on the right.",
    formula="mask[b, j] = (j < lengths[b])",
    source="docs/interface.md",
    reason="the definition",
)
PADDING_MASK_COUNT = Property(
    key="count",
    statement="Each row has as many True as the sequence has tokens.",
    formula="Σ_j mask[b, j] = lengths[b]",
    source="docs/interface.md",
    reason="counting the definition's True entries",
)
PADDING_MASK_SAMPLES = Property(
    key="batch.permutation",
    statement="Reordering the lengths reorders the rows in the same way.",
    formula="mask(lengths[π]) = mask(lengths)[π]",
    source="each row depends on its own length only",
    reason="the definition: a row is a function of its own length",
)
CAUSAL_MASK_LAWS = (CAUSAL_MASK_VALUE, CAUSAL_MASK_DIAGONAL, CAUSAL_MASK_PREFIX)
PADDING_MASK_LAWS = (PADDING_MASK_VALUE, PADDING_MASK_COUNT, PADDING_MASK_SAMPLES)

LAWS = (
    *state((BOOLEAN, WORKED_EXAMPLES, *CAUSAL_MASK_LAWS), CAUSAL_MASK),
    *state((BOOLEAN, WORKED_EXAMPLES, *PADDING_MASK_LAWS), PADDING_MASK),
)
