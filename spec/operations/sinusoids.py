"""Sinusoidal positions, which are added to tokens."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SINUSOIDAL_POSITIONS = Operation(
    name="sinusoidal_positions",
    prefix="sinusoid",
    summary="Encode each position as the phases of d_model/2 clocks of geometrically spaced frequency.",
    parameters=(
        Parameter("length", "", "scalar", "positional", "number of positions, counted from 0"),
        Parameter("d_model", "", "scalar", "positional", "width, even"),
    ),
    result="(length, d_model)",
    formula="PE[p, 2k] = sin(p ω_k), PE[p, 2k+1] = cos(p ω_k), ω_k = 10000^(−2k/d_model)",
    source="Vaswani et al. 2017, section 3.5",
    conventions=("sinusoidal_layout",),
    place=10,
)

OPERATIONS = (SINUSOIDAL_POSITIONS,)
