"""Laws of the networks that are applied to each position alone."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.feed_forward import FEED_FORWARD, GATED_FEED_FORWARD

VASWANI = "Vaswani et al. 2017, section 3.3"
SHAZEER = "Shazeer 2020, section 2"
FEED_FORWARD_VALUE = Property(
    key="value",
    statement="The input passes the first matrix and bias, the activation, the second matrix and bias, in this order.",
    formula="f(x) = activation(x W_1 + b_1) W_2 + b_2",
    source=f"{VASWANI}, equation 2",
    reason="the definition",
    conventions=("gelu_form",),
)
NO_BIAS = Property(
    key="biases",
    statement="A bias that is None is a bias of zeros.",
    formula="f(x; b_1 = b_2 = None) = f(x; b_1 = b_2 = 0)",
    source="docs/interface.md",
    reason="part of the interface: what None stands for",
)
OUTPUT_BIAS = Property(
    key="output_bias",
    statement="If the second matrix is zero, only its bias is left.",
    formula="W_2 = 0: f(x) = b_2",
    source=f"{VASWANI}, equation 2",
    derivation="feed_forward",
    steps=("Where the second matrix is zero its bias is left",),
)
HIDDEN_ORDER = Property(
    key="hidden.permutation",
    statement="Reordering the hidden units, with their weights and biases, changes nothing.",
    formula="f(x; W_1 P, b_1 P, Pᵀ W_2) = f(x; W_1, b_1, W_2)",
    source="a sum does not depend on the order of its terms",
    derivation="feed_forward",
    steps=("The order of the hidden units does not matter",),
)
HIDDEN_SUM = Property(
    key="hidden.sum",
    statement="Two networks that share out the hidden units between them add up to the whole network.",
    formula="f(x) = Σ_units activation(⟨x, w_1⟩ + b_1) w_2 + b_2",
    source="a matrix product is a sum over the inner index",
    derivation="feed_forward",
    steps=("Two parts of the hidden units add up to the whole",),
)
HOMOGENEITY = Property(
    key="relu_homogeneity",
    statement="With ReLU and without biases, scaling the input scales the result.",
    formula="α > 0: f(α x) = α f(x)",
    source="max(0, α z) = α max(0, z)",
    derivation="feed_forward",
    steps=("ReLU without biases: scaling the input scales the result",),
)
POSITIONS = Property(
    key="batch.independence",
    statement="A position's result does not depend on the other positions.",
    formula="f(x)[r] = f(x[r])",
    source=f"{VASWANI}: applied to each position separately and identically",
    derivation="feed_forward",
    steps=("No dependence on another position",),
)
GATED_VALUE = Property(
    key="value",
    statement="The activated gate multiplies the other branch, unit by unit, before the last matrix.",
    formula="f(x) = (activation(x W_gate) ⊙ x W_up) W_down",
    source=SHAZEER,
    reason="the definition",
    conventions=("gelu_form",),
)
UP_LINEAR = Property(
    key="up_branch.linear",
    statement="The result is linear in the matrix that is not activated.",
    formula="f(x; W_up + W′) = f(x; W_up) + f(x; W′)",
    source=f"{SHAZEER}: the gate alone passes through the activation",
    derivation="feed_forward",
    steps=("A gated network is linear in the branch that is not activated",),
)
UP_SIGN = Property(
    key="up_branch.sign",
    statement="Negating the matrix that is not activated negates the result, so gate and branch are not swapped.",
    formula="f(x; −W_up) = −f(x; W_up)",
    source=f"{SHAZEER}: the gate alone passes through the activation",
    derivation="feed_forward",
    steps=("Negating that branch negates the result",),
)
ZERO_GATE = Property(
    key="zero_gate",
    statement="A gate whose matrix is zero lets nothing through.",
    formula="W_gate = 0: f(x) = 0",
    source="activation(0) = 0",
    derivation="feed_forward",
    steps=("A gate whose matrix is zero lets nothing through",),
)
GATED_HIDDEN_ORDER = Property(
    key="hidden.permutation",
    statement="Reordering the hidden units, with their weights and biases, changes nothing.",
    formula="f(x; W_gate P, W_up P, Pᵀ W_down) = f(x; W_gate, W_up, W_down)",
    source="a sum does not depend on the order of its terms",
    derivation="feed_forward",
    steps=("The order of the hidden units of a gated network does not matter either",),
)
GATED_HIDDEN_SUM = Property(
    key="hidden.sum",
    statement="Two networks that share out the hidden units between them add up to the whole network.",
    formula="f(x) = Σ_units activation(⟨x, w_gate⟩) ⟨x, w_up⟩ w_down",
    source="a matrix product is a sum over the inner index",
    derivation="feed_forward",
    steps=("Two parts of the hidden units add up to the whole",),
)
GATED_POSITIONS = Property(
    key="batch.independence",
    statement="A position's result does not depend on the other positions.",
    formula="f(x)[r] = f(x[r])",
    source=SHAZEER,
    derivation="feed_forward",
    steps=("No dependence on another position",),
)
FEED_FORWARD_LAWS = (
    FEED_FORWARD_VALUE,
    NO_BIAS,
    OUTPUT_BIAS,
    HIDDEN_ORDER,
    HIDDEN_SUM,
    HOMOGENEITY,
    POSITIONS,
)
GATED_LAWS = (
    GATED_VALUE,
    UP_LINEAR,
    UP_SIGN,
    ZERO_GATE,
    GATED_HIDDEN_ORDER,
    GATED_HIDDEN_SUM,
    GATED_POSITIONS,
)

LAWS = (
    *state(FEED_FORWARD_LAWS, FEED_FORWARD),
    *state(GATED_LAWS, GATED_FEED_FORWARD),
)
