"""Regions of the gradients of GELU and SiLU."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import Region

REGIONS = (
    Region(
        "entries of zero",
        "Nothing may be divided by them.",
        ("gelu_backward",),
        lambda c: c.width > 1,
        lambda given: bool((given.x == 0.0).any()),
    ),
    Region(
        "entries near zero",
        "The derivative differs from a step there.",
        ("gelu_backward", "silu_backward"),
        lambda c: c.amplitude == 1,
        lambda given: bool(((abs(given.x) > 0.1) & (abs(given.x) < 2.0)).any()),
    ),
    Region(
        "gradients other than one",
        "They may be multiplied by once too often.",
        ("gelu_backward", "silu_backward"),
        lambda c: c.amplitude == 1,
        lambda given: bool((abs(given.grad_output) > 1.5).any()),
    ),
)
