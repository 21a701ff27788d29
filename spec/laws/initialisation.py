"""Laws of the weights with which a model starts, which hold for normal, uniform and truncated normal numbers alike.

Laws about chance accuse a correct implementation in one of 10¹² calls at most. They use two things of an entry w of
mean 0 and variance σ²: E exp(t w) ≤ exp(t² σ²/2), which is called strictly sub-Gaussian, and E w⁴ ≤ 3 σ⁴.
"""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.initialisation import INITIAL_WEIGHTS, SOURCE

INTERFACE = "the interface of an implementation under test (docs/interface.md)"
GAINS = "Ba, Kiros & Hinton 2016, section 3.1; Zhang & Sennrich 2019, section 4"
RESIDUAL = "Radford et al. 2019, section 2.3: the weights of residual layers are scaled by the root of their number"
_INDEPENDENT = "Entries of different matrices are uncorrelated"
_ENTRIES = "Entries of one matrix are uncorrelated"

NORMS = Property(
    key="norms",
    statement="Every gain is one and every shift zero, to the last bit.",
    formula="gamma = 1, beta = 0",
    source=GAINS,
    reason="a convention of all libraries: a norm starts as a norm alone",
)
BIASES = Property(
    key="biases",
    statement="Every bias starts at zero, or all are as uniform numbers of up to 1/√n_in are.",
    formula="b = 0; or |b| ≤ 1/√n_in, Σ 3 n_in b² = the number of biases, within chance",
    source="Glorot & Bengio 2010, section 4.2.1 (zero); torch.nn.Linear (uniform)",
    reason="a convention: either is followed by popular libraries",
    conventions=("initial_bias",),
)
MEAN = Property(
    key="mean",
    statement="The entries of each projection have the mean zero, no further off than chance allows.",
    formula="P(|Σ w/n| ≥ t) ≤ 2 exp(−n t²/(2 σ²))",
    source=SOURCE,
    derivation="initialisation",
    steps=("The mean of one output", "The variance of a mean"),
    conventions=("initial_deviation", "initial_residual"),
)
DEVIATION = Property(
    key="deviation",
    statement="The entries of each projection have the variance of the convention, no further off than chance allows.",
    formula="Σ w²/n = σ², σ² = 1/n_in, 2/(n_in + n_out), 1/(3 n_in) or 0.02², where residual /(2N) or /(2(l + 1))",
    source=SOURCE,
    derivation="initialisation",
    steps=("The variance of one output", "With the variance 1/n_in it stays"),
    conventions=("initial_deviation", "initial_residual"),
)
LOGITS = Property(
    key="logits",
    statement="The logits of independent vectors of unit variance have the variance of the convention at every width: "
    "with 1/n_in it is 1.",
    formula="‖W_Q W_Kᵀ‖²/D = E² σ_Q² σ_K², of each head and of all together, within chance",
    source=f"{SOURCE}; Vaswani et al. 2017, section 3.2.1",
    derivation="initialisation",
    steps=("The variance of a logit", "With the variance 1/n_in a logit has the variance 1"),
    conventions=("initial_deviation",),
)
DEPTH = Property(
    key="depth",
    statement="The variance of the stream grows with the depth as the convention says: scaled by 1/√(2N), all 2N "
    "branches together no more than double it where each would add 1.",
    formula="1 + Σ_layers (‖W_V W_O‖² + ‖W_2‖²)/E = 1 + N (E H D σ_V² σ_O² + F σ_2²), within chance",
    source=RESIDUAL,
    derivation="initialisation",
    steps=("A branch adds its gain", "After all branches", "Branches scaled by 1/√(2N) double the variance"),
    conventions=("initial_deviation", "initial_residual"),
)
INDEPENDENT = Property(
    key="matrices.independent",
    statement="No two projections, of one layer or of two, have anything in common.",
    formula="P(|⟨A, B⟩| ≥ t) ≤ 2 exp(−t²/(2 σ_B² ‖A‖²)), for all that are of one size",
    source=INTERFACE,
    derivation="initialisation",
    steps=(_INDEPENDENT,),
    conventions=("initial_deviation", "initial_residual"),
)
HEADS_INDEPENDENT = Property(
    key="heads.independent",
    statement="No two heads of a layer, of queries, keys, values or outputs, have anything in common.",
    formula="P(|⟨A, B⟩| ≥ t) ≤ 2 exp(−t²/(2 σ_B² ‖A‖²)), A and B the entries of two heads",
    source=INTERFACE,
    derivation="initialisation",
    steps=(_ENTRIES, _INDEPENDENT),
    conventions=("initial_deviation", "initial_residual"),
)
ROWS_INDEPENDENT = Property(
    key="rows.independent",
    statement="No two rows and no two columns of a projection have anything in common.",
    formula="P(|⟨a_i, a_j⟩| ≥ t) ≤ 2 exp(−t²/(2 σ² ‖a_i‖²)), i ≠ j",
    source=INTERFACE,
    derivation="initialisation",
    steps=(_ENTRIES,),
    conventions=("initial_deviation", "initial_residual"),
)
TABLES = Property(
    key="tables",
    statement="The rows of a table have the mean zero and one variance, and nothing in common, within chance; one row, "
    "that of padding, may be zero, and so may all positions.",
    formula="σ² = Σ w²/n; Σ_j w_ij = 0, Σ_j w_ij²/E = σ², ⟨w_i, w_j⟩ = 0, i ≠ j",
    source="Vaswani et al. 2017, section 3.4; Radford et al. 2018, section 4.1",
    derivation="initialisation",
    steps=("The variance of a mean", _ENTRIES),
)
OTHER_SEED = Property(
    key="seed.other",
    statement="With another seed all projections are others, independent of those before.",
    formula="P(|⟨A, A′⟩| ≥ t) ≤ 2 exp(−t²/(2 σ² ‖A‖²))",
    source=INTERFACE,
    derivation="initialisation",
    steps=(_INDEPENDENT,),
    conventions=("initial_deviation", "initial_residual"),
)

LAWS = state(
    (
        NORMS,
        BIASES,
        MEAN,
        DEVIATION,
        LOGITS,
        DEPTH,
        INDEPENDENT,
        HEADS_INDEPENDENT,
        ROWS_INDEPENDENT,
        TABLES,
        OTHER_SEED,
    ),
    INITIAL_WEIGHTS,
)
