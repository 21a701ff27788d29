"""Laws of the mask builders, of sinusoidal positions, and of layer normalisation."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

VASWANI_MASK = "Vaswani et al. 2017, section 3.2.3"
VASWANI_POSITION = "Vaswani et al. 2017, section 3.5"

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
    statement="The mask is True at real tokens and False at padding, which stands at the right.",
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
    statement="Reordering the lengths reorders the rows alike.",
    formula="mask(lengths[π]) = mask(lengths)[π]",
    source="each row depends on its own length only",
    reason="the definition: a row is a function of its own length",
)
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
        "R is orthogonal",
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
LAYER_NORM_VALUE = Property(
    key="value",
    statement="Each vector is centred, divided by its standard deviation, scaled and shifted.",
    formula="y = (x − mean x) / √(var x + eps) · gamma + beta, var with divisor E",
    source="Ba, Kiros & Hinton 2016, section 3",
    reason="the definition",
    conventions=("layer_norm_eps",),
)
LAYER_NORM_ZERO_MEAN = Property(
    key="zero_mean",
    statement="With unit gain and no shift the result has mean zero.",
    formula="gamma = 1, beta = 0: Σ_c y_c = 0",
    source="Ba, Kiros & Hinton 2016, section 3",
    derivation="layer_norm",
    steps=("The output has mean 0",),
)
LAYER_NORM_SHIFT = Property(
    key="shift",
    statement="Adding one number to all components of a vector changes nothing.",
    formula="f(x + c 1) = f(x)",
    source="Ba, Kiros & Hinton 2016, section 5.1 (re-centring of each case)",
    derivation="layer_norm",
    steps=("Adding a constant to all components changes nothing",),
)
LAYER_NORM_POSITIONS = Property(
    key="batch.independence",
    statement="A vector's result does not depend on the other vectors.",
    formula="f(x)[r] = f(x[r])",
    source="mean and variance are those of one vector",
    derivation="decoding_cache",
    steps=("So does a norm",),
)
LAYER_NORM_AFFINE = Property(
    key="gain_and_shift",
    statement="Gain and shift act on each component after normalisation.",
    formula="f(x; gamma, beta) = f(x; 1, 0) · gamma + beta",
    source="Ba, Kiros & Hinton 2016, equation 4",
    reason="the definition",
)

CAUSAL_MASK_LAWS = (CAUSAL_MASK_VALUE, CAUSAL_MASK_DIAGONAL, CAUSAL_MASK_PREFIX)
PADDING_MASK_LAWS = (PADDING_MASK_VALUE, PADDING_MASK_COUNT, PADDING_MASK_SAMPLES)
SINUSOID_LAWS = (SINUSOID_VALUES, SINUSOID_INNER_PRODUCT, SINUSOID_SHIFT, SINUSOID_NORM, SINUSOID_PREFIX)
LAYER_NORM_LAWS = (
    LAYER_NORM_VALUE,
    LAYER_NORM_ZERO_MEAN,
    LAYER_NORM_SHIFT,
    LAYER_NORM_POSITIONS,
    LAYER_NORM_AFFINE,
)
