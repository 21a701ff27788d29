"""Laws of the gradients of layer and RMS normalisation."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.normalisation_backward import LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD

BA = "Ba, Kiros & Hinton 2016, section 3, differentiated"
ZHANG = "Zhang & Sennrich 2019, section 4, differentiated"
ADD_UP = "every vector uses the same gain and shift, and the gradients of all uses add up"

LAYER_GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a vector is what is left of that of its normalised vector after two projections, over "
    "the divisor: its mean and its part along the normalised vector are removed.",
    formula="dx = (g − mean g − ŷ mean(g ŷ)) / √(var x + eps), g = dO · gamma",
    source=BA,
    derivation="layer_norm",
    steps=("The Jacobian",),
    conventions=("layer_norm_eps",),
)
GRAD_GAMMA = Property(
    key="grad_gamma",
    statement="The gradient of the gain is the sum over all vectors of output gradient times normalised vector.",
    formula="dgamma = Σ dO ŷ, over all vectors",
    source=ADD_UP,
    derivation="backward",
    steps=("A gain that every row uses gets the sum over the rows",),
)
GRAD_BETA = Property(
    key="grad_beta",
    statement="The gradient of the shift is the sum of the output gradients over all vectors.",
    formula="dbeta = Σ dO, over all vectors",
    source=ADD_UP,
    derivation="backward",
    steps=("An offset that every row uses gets the sum of G over the rows",),
)
WHOLE = Property(
    key="grad_beta.whole_numbers",
    statement="The shift's gradient of whole numbers is their sum, to the last bit.",
    formula="dO of small whole numbers: dbeta = Σ dO exactly",
    source="sums of small whole numbers are exact in every dtype, in any order",
    derivation="backward",
    steps=("An offset that every row uses gets the sum of G over the rows",),
)
LAYER_EPS = Property(
    key="eps",
    statement="Eps is added to the variance, which shows where the deviation is as small as √eps.",
    formula="x = √eps · z: dx is the formula's with √eps √(var z + 1)",
    source="Ba, Kiros & Hinton 2016 have no eps; every library adds it",
    derivation="layer_norm",
    steps=("The Jacobian",),
    conventions=("layer_norm_eps",),
)
LAYER_UNIT_GAIN = Property(
    key="unit_gain",
    statement="With a gain of ones the gradient is that of the normalised vector alone.",
    formula="gamma = 1: dx = (dO − mean dO − ŷ mean(dO ŷ)) / √(var x + eps)",
    source=BA,
    derivation="layer_norm",
    steps=("The Jacobian",),
)
ROWS_SUM_TO_ZERO = Property(
    key="rows_sum_to_zero",
    statement="The gradient of each vector sums to zero.",
    formula="Σ_j dx_j = 0",
    source="a shift of the vector changes nothing, so that no gradient points along it",
    derivation="layer_norm",
    steps=("Every row of the Jacobian sums to 0",),
)
LAYER_ALONG_X = Property(
    key="along_x",
    statement="Along the centred vector itself the gradient has only what eps leaves: nearly nothing.",
    formula="Σ_j dx_j (x_j − μ) = eps Σ_j g_j (x_j − μ) / (var x + eps)^(3/2)",
    source="a change of the vector's scale changes nothing but through eps, so that no gradient points along it",
    derivation="layer_norm",
    steps=("The Jacobian nearly removes the centred input",),
    conventions=("layer_norm_eps",),
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to all components of each vector leaves all gradients as they are.",
    formula="g(x + c 1, dO) = g(x, dO), g the gradients",
    source="the normalised vectors and the divisors are the same, and the gradients have no other use of x",
    derivation="layer_norm",
    steps=("Adding a constant to all components changes nothing",),
)
EQUAL = Property(
    key="grad_output.equal",
    statement="If the gradients of all components of a vector are equal and the gain is one, the vector has none.",
    formula="gamma = 1, dO_j = c for all j: dx = 0",
    source="the components of the normalised vector sum to zero, so that c Σ y is a constant",
    derivation="layer_norm",
    steps=("The output has mean 0",),
)
BETA_UNUSED = Property(
    key="beta_unused",
    statement="The shift has no effect on any gradient.",
    formula="g(x, gamma, beta, dO) = g(x, gamma, 0, dO), g the gradients",
    source="the shift is added last",
    derivation="backward",
    steps=("An offset that every row uses gets the sum of G over the rows",),
)
ALONE = Property(
    key="batch.independence",
    statement="The gradient of a vector does not depend on the other vectors.",
    formula="dx(x, dO)[r] = dx(x[r], dO[r])",
    source="mean and variance, or mean square, are those of one vector",
    derivation="decoding_cache",
    steps=("A norm depends on its own token only",),
)
RMS_ALONE = replace(ALONE, derivation="rms_norm", steps=("No dependence on another vector",))
ADDITIVE = Property(
    key="rows.additive",
    statement="The gradient of the gain, as of the shift, over some vectors and over the others add up to that of all.",
    formula="dgamma(x, dO) = dgamma(x[A], dO[A]) + dgamma(x[B], dO[B]), A and B all vectors",
    source=ADD_UP,
    derivation="backward",
    steps=("A gain that every row uses gets the sum over the rows",),
)
ROW_ORDER = Property(
    key="rows.permutation",
    statement="Vectors in another order give the gradients of the vectors in that order, and the same of the rest.",
    formula="dx(x[π], dO[π]) = dx(x, dO)[π], dgamma(x[π], dO[π]) = dgamma(x, dO)",
    source="a sum does not depend on the order of its terms",
    derivation="backward",
    steps=("A gain that every row uses gets the sum over the rows",),
)
PERMUTATION = Property(
    key="permutation",
    statement="Components, gain and output gradients in another order give the gradients in that order.",
    formula="g(x[π], gamma[π], dO[π]) = g(x, gamma, dO)[π], g the gradients",
    source="a mean does not depend on the order of its terms",
    derivation="rms_norm",
    steps=("Permuting the components permutes the output",),
)

RMS_GRAD_X = Property(
    key="grad_x",
    statement="The gradient of a vector is what is left of that of its normalised vector after a projection, over the "
    "divisor: its part along the normalised vector is removed.",
    formula="dx = (g − ŷ mean(g ŷ)) / √(mean x² + eps), g = dO · gain",
    source=ZHANG,
    derivation="rms_norm",
    steps=("The Jacobian",),
    conventions=("rms_norm_gain",),
)
RMS_EPS = Property(
    key="eps",
    statement="Eps is added to the mean square, which shows where the components are as small as √eps.",
    formula="x = √eps · z: dx is the formula's with √eps √(mean z² + 1)",
    source="Zhang & Sennrich 2019 have no eps; every library adds it",
    derivation="rms_norm",
    steps=("The Jacobian",),
    conventions=("rms_norm_gain",),
)
RMS_UNIT_GAIN = Property(
    key="unit_gain",
    statement="With unit gain the gradient is that of the normalised vector alone.",
    formula="unit gain: dx = (dO − ŷ mean(dO ŷ)) / √(mean x² + eps)",
    source=ZHANG,
    derivation="rms_norm",
    steps=("The Jacobian",),
    conventions=("rms_norm_gain",),
)
RMS_ALONG_X = Property(
    key="along_x",
    statement="Along the vector itself the gradient has only what eps leaves: nearly nothing.",
    formula="Σ_j dx_j x_j = eps Σ_j g_j x_j / (mean x² + eps)^(3/2)",
    source="a change of the vector's scale changes nothing but through eps, so that no gradient points along it",
    derivation="rms_norm",
    steps=("The Jacobian nearly removes the input",),
    conventions=("rms_norm_gain",),
)
SCALE = Property(
    key="scale",
    statement="Scaling a vector by α and eps by α² divides the gradient of the vector by α and leaves that of the "
    "gain as it is.",
    formula="α > 0: dx(α x, α² eps) = dx(x, eps) / α, dgamma(α x, α² eps) = dgamma(x, eps)",
    source="Zhang & Sennrich 2019, section 4 (re-scaling invariance)",
    derivation="rms_norm",
    steps=("Scaling x by α and ε by α² divides the Jacobian by α",),
)
ODD = Property(
    key="odd",
    statement="The negated vector gives the same gradient of the vector, and the negated one of the gain.",
    formula="dx(−x, dO) = dx(x, dO), dgamma(−x, dO) = −dgamma(x, dO)",
    source="the norm is odd, so that its derivative is even",
    derivation="rms_norm",
    steps=("The operation is odd",),
)
ZERO_VECTOR = Property(
    key="zero_vector",
    statement="The zero vector gets its output's gradient times the gain over √eps.",
    formula="eps > 0, x = 0: dx = g / √eps",
    source=ZHANG,
    derivation="rms_norm",
    steps=("The Jacobian",),
    conventions=("rms_norm_gain",),
)

LAYER_NORM_LAWS = (
    LAYER_GRAD_X,
    GRAD_GAMMA,
    GRAD_BETA,
    WHOLE,
    LAYER_EPS,
    LAYER_UNIT_GAIN,
    ROWS_SUM_TO_ZERO,
    LAYER_ALONG_X,
    EQUAL,
    SHIFT,
    BETA_UNUSED,
    ALONE,
    ADDITIVE,
    ROW_ORDER,
    *EVERY_BACKWARD_PASS,
)
RMS_NORM_LAWS = (
    RMS_GRAD_X,
    GRAD_GAMMA,
    RMS_EPS,
    RMS_UNIT_GAIN,
    RMS_ALONG_X,
    SCALE,
    ODD,
    PERMUTATION,
    ZERO_VECTOR,
    RMS_ALONE,
    ADDITIVE,
    ROW_ORDER,
    *EVERY_BACKWARD_PASS,
)

LAWS = (
    *state((WORKED_EXAMPLES, *LAYER_NORM_LAWS), LAYER_NORM_BACKWARD),
    *state(RMS_NORM_LAWS, RMS_NORM_BACKWARD),
)
