"""Laws of root-mean-square normalisation, and laws about the statistics of layer normalisation."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.normalisation import LAYER_NORM, RMS_NORM

ZHANG = "Zhang & Sennrich 2019, section 4"
BA = "Ba, Kiros & Hinton 2016, section 3"

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
    steps=("A norm depends on its own token only",),
)
LAYER_NORM_AFFINE = Property(
    key="gain_and_shift",
    statement="Gain and shift act on each component after normalisation.",
    formula="f(x; gamma, beta) = f(x; 1, 0) · gamma + beta",
    source="Ba, Kiros & Hinton 2016, equation 4",
    reason="the definition",
)
LAYER_NORM_VARIANCE = Property(
    key="unit_variance",
    statement="With unit gain and no shift the result has variance one, up to eps.",
    formula="gamma = 1, beta = 0, v = var x: var y = v / (v + eps), with divisor E",
    source=BA,
    derivation="layer_norm",
    steps=("The output has variance v/(v + ε)",),
    conventions=("layer_norm_eps",),
)
LAYER_NORM_EPS = Property(
    key="eps",
    statement="Eps is added to the variance, which shows where the deviation is as small as √eps.",
    formula="x = √eps · z: y = (z − mean z) / √(var z + 1) · gamma + beta",
    source="Ba, Kiros & Hinton 2016 have no eps; every library adds it",
    derivation="layer_norm",
    steps=("Scaling by α is scaling ε by 1/α²",),
    conventions=("layer_norm_eps",),
)
LAYER_NORM_LARGE_MEAN = Property(
    key="large_mean",
    statement="A mean far larger than the deviation is removed without loss: the variance is that of the remainder.",
    formula="f(x + c 1) = f(x), c beyond the root of the largest whole number that the dtype counts to",
    source=f"{BA}; mean(x²) − (mean x)² loses all digits there (Higham 2002, section 1.9)",
    derivation="layer_norm",
    steps=("Adding a constant to all components changes nothing",),
    obligation="should",
)

RMS_NORM_VALUE = Property(
    key="value",
    statement="Each vector is divided by its root mean square and multiplied by the gain.",
    formula="y = x / √(mean x² + eps) · gamma, or · (1 + gamma)",
    source=ZHANG,
    reason="the definition",
    conventions=("rms_norm_gain",),
)
RMS_NORM_MEAN_SQUARE = Property(
    key="unit_mean_square",
    statement="With unit gain the result has mean square one, up to eps.",
    formula="unit gain, v = mean x²: mean y² = v / (v + eps)",
    source=ZHANG,
    derivation="rms_norm",
    steps=("The output has mean square q/(q + ε)",),
    conventions=("rms_norm_gain",),
)
RMS_NORM_SCALE = Property(
    key="scale",
    statement="Scaling a vector by α equals dividing eps by α², so that without eps it changes nothing.",
    formula="α > 0: f(α x; α² eps) = f(x; eps)",
    source="Zhang & Sennrich 2019, section 4 (re-scaling invariance)",
    derivation="rms_norm",
    steps=("Scaling by α is scaling ε by 1/α²",),
)
RMS_NORM_EPS = Property(
    key="eps",
    statement="Eps is added to the mean square, which shows where the components are as small as √eps.",
    formula="x = √eps · z: y = z / √(mean z² + 1) · gain",
    source="Zhang & Sennrich 2019 have no eps; every library adds it",
    derivation="rms_norm",
    steps=("Scaling by α is scaling ε by 1/α²",),
    conventions=("rms_norm_gain",),
)
RMS_NORM_ODD = Property(
    key="odd",
    statement="The negated vector gives the negated result.",
    formula="f(−x) = −f(x)",
    source="a square does not see the sign",
    derivation="rms_norm",
    steps=("The operation is odd",),
)
RMS_NORM_PERMUTATION = Property(
    key="permutation",
    statement="Reordering components and gain reorders the result in the same way.",
    formula="f(x[π]; gamma[π]) = f(x; gamma)[π]",
    source="a mean does not depend on the order of its terms",
    derivation="rms_norm",
    steps=("Permuting the components permutes the output",),
)
RMS_NORM_REFLECTION = Property(
    key="reflection",
    statement="With unit gain the operation commutes with a reflection, as with every map that keeps lengths.",
    formula="unit gain, Q = I − 2 u uᵀ / ⟨u, u⟩: f(x Q) = f(x) Q",
    source="only the length of the vector enters the divisor",
    derivation="rms_norm",
    steps=("The operation commutes with reflections",),
    conventions=("rms_norm_gain",),
)
RMS_NORM_CONSTANT = Property(
    key="constant_vector",
    statement="A vector of equal components keeps them: it is not centred.",
    formula="x = c 1: y = c / √(c² + eps) · gain",
    source="Zhang & Sennrich 2019, section 4: re-centring is left out",
    derivation="rms_norm",
    steps=("A vector of equal components keeps them",),
    conventions=("rms_norm_gain",),
)
RMS_NORM_ZERO = Property(
    key="zero_vector",
    statement="The zero vector gives zero, because eps keeps the divisor from vanishing.",
    formula="eps > 0: f(0) = 0",
    source="0 / √eps = 0",
    derivation="rms_norm",
    steps=("The operation is odd",),
)
RMS_NORM_GAIN = Property(
    key="gain",
    statement="The gain acts on each component after normalisation.",
    formula="f(x; gamma) = f(x; unit gain) · gain",
    source=ZHANG,
    reason="the definition",
    conventions=("rms_norm_gain",),
)
RMS_NORM_POSITIONS = Property(
    key="batch.independence",
    statement="A vector's result does not depend on the other vectors.",
    formula="f(x)[r] = f(x[r])",
    source="the mean square is that of one vector",
    derivation="rms_norm",
    steps=("No dependence on another vector",),
)

LAYER_NORM_LAWS = (
    LAYER_NORM_VALUE,
    LAYER_NORM_ZERO_MEAN,
    LAYER_NORM_SHIFT,
    LAYER_NORM_POSITIONS,
    LAYER_NORM_AFFINE,
    LAYER_NORM_VARIANCE,
    LAYER_NORM_EPS,
    LAYER_NORM_LARGE_MEAN,
)
RMS_NORM_LAWS = (
    RMS_NORM_VALUE,
    RMS_NORM_MEAN_SQUARE,
    RMS_NORM_SCALE,
    RMS_NORM_EPS,
    RMS_NORM_ODD,
    RMS_NORM_PERMUTATION,
    RMS_NORM_REFLECTION,
    RMS_NORM_CONSTANT,
    RMS_NORM_ZERO,
    RMS_NORM_GAIN,
    RMS_NORM_POSITIONS,
)

LAWS = (
    *state((WORKED_EXAMPLES, *LAYER_NORM_LAWS), LAYER_NORM),
    *state(RMS_NORM_LAWS, RMS_NORM),
)
