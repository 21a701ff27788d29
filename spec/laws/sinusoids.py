"""Sinusoidal positions."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.sinusoids import SINUSOIDAL_POSITIONS

VASWANI_POSITION = "Vaswani et al. 2017, section 3.5"
SINUSOID_VALUES = Property(
    key="values",
    statement="Each pair of components is the sine and cosine of the position times the pair's frequency.",
    formula="PE[p, 2k] = sin(p ω_k), PE[p, 2k+1] = cos(p ω_k), ω_k = 10000^(−2k/d)",
    source=f"{VASWANI_POSITION}; seed documents 001 and 004",
    reason="the definition",
    conventions=("sinusoidal_layout",),
)
SINUSOID_INNER_PRODUCT = Property(
    key="relative_inner_product",
    statement="The inner product of two encodings depends on the distance of their positions only.",
    formula="⟨PE[i], PE[j]⟩ = Σ_k cos(ω_k (i − j))",
    source="seed document 004, footnote on the inner product",
    derivation="sinusoid_relative_position",
    steps=("The inner product of two positions",),
)
SINUSOID_SHIFT = Property(
    key="shift_by_rotation",
    statement="Moving by a distance is one rotation, the same at every position.",
    formula="PE[p + Δ] = R(Δ) PE[p], R(Δ) block-diagonal and orthogonal",
    source=f"{VASWANI_POSITION}: PE(pos + k) is a linear function of PE(pos)",
    derivation="sinusoid_relative_position",
    steps=(
        "Moving by Δ rotates every pair",
        "The rotation is orthogonal",
    ),
    conventions=("sinusoidal_layout",),
)
SINUSOID_NORM = Property(
    key="norm",
    statement="Every encoding has the squared length d_model/2.",
    formula="‖PE[p]‖² = d_model / 2",
    source="cos² + sin² = 1 in each pair",
    derivation="sinusoid_relative_position",
    steps=("Every encoding has squared norm d/2",),
)
SINUSOID_PREFIX = Property(
    key="prefix",
    statement="A position's encoding does not depend on the length of the table.",
    formula="PE(n)[p] = PE(m)[p] for p < min(n, m)",
    source=VASWANI_POSITION,
    reason="the length does not occur in the definition of an entry",
)
SINUSOID_LAWS = (SINUSOID_VALUES, SINUSOID_INNER_PRODUCT, SINUSOID_SHIFT, SINUSOID_NORM, SINUSOID_PREFIX)

LAWS = state((WORKED_EXAMPLES, *SINUSOID_LAWS), SINUSOIDAL_POSITIONS)
