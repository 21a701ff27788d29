"""Regions of clipping by the norm of all gradients."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among
from veriformer.conformance_tests.operations.clipping.cases import BEYOND

REGIONS = among(
    ("clip_by_global_norm",),
    ("norm beyond the bound", "The gradients are clipped.", lambda c: c.bound in BEYOND),
    ("norm within the bound", "The gradients stay as they are.", lambda c: c.bound in ("within", "just_within")),
    ("norm near the bound", "The factor is nearly 1.", lambda c: c.bound in ("just_within", "just_beyond")),
    ("gradients all zero", "The norm is 0.", lambda c: c.bound == "zero"),
    ("one array alone", "Its norm is that of all gradients.", lambda c: c.arrays == 1),
    (
        "several arrays beyond the bound",
        "Each has a norm of its own.",
        lambda c: c.arrays > 1 and c.bound in BEYOND,
    ),
    ("arrays of different scale", "One of them has nearly all of the norm.", lambda c: c.spread > 0 and c.arrays > 1),
    (
        "norm that 1e-6 adds to",
        "The gradients are so small that 1e-6 is a share of the norm.",
        lambda c: c.exponent < 0,
    ),
)
