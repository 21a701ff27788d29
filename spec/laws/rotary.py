"""Laws of rotary position embeddings."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.rotary import ROTARY_EMBEDDING

SU = "Su et al. 2021, section 3.2.2"
RELATIVE_SOURCE = "Su et al. 2021, section 3.1: the inner product takes the positions only in the form m − n"

VALUE = Property(
    key="value",
    statement="Each pair of components is turned by the position times the pair's frequency.",
    formula="(y_a, y_b) = (x_a cos pθ_k − x_b sin pθ_k, x_b cos pθ_k + x_a sin pθ_k), θ_k = base^(−2k/r)",
    source=SU,
    reason="the definition",
    conventions=("rotary_pairing",),
)
NORM = Property(
    key="norm",
    statement="Turning keeps the length of every pair.",
    formula="y_a² + y_b² = x_a² + x_b²",
    source="cos² + sin² = 1 in each pair",
    derivation="rotary",
    steps=("Every pair keeps its length",),
    conventions=("rotary_pairing",),
)
RELATIVE = Property(
    key="relative",
    statement="The inner product of a turned query and a turned key depends on the difference of their positions only.",
    formula="⟨R_{m+c} q, R_{n+c} k⟩ = ⟨R_m q, R_n k⟩",
    source=RELATIVE_SOURCE,
    derivation="rotary",
    steps=("A common shift changes nothing",),
)
ADDITIVE = Property(
    key="additive",
    statement="Turning to one position and then by another is turning to their sum.",
    formula="R_m R_n x = R_{m+n} x",
    source="rotations of one plane add their angles",
    derivation="rotary",
    steps=("Turning twice is turning by the sum",),
)
POSITION_ZERO = Property(
    key="position_zero",
    statement="Position 0 changes nothing.",
    formula="R_0 x = x",
    source="cos 0 = 1 and sin 0 = 0",
    derivation="rotary",
    steps=("Turning back gives the vector back",),
)
LINEAR = Property(
    key="linear",
    statement="Turning is linear in the vectors.",
    formula="R_m(2x + 3z) = 2 R_m x + 3 R_m z",
    source=f"{SU}: multiplication by a rotation matrix",
    derivation="rotary",
    steps=("Turning is linear",),
)
BASE = Property(
    key="base",
    statement="An explicit base replaces 10000.",
    formula="f(x, p; base) turns the k-th pair by p base^(−2k/r)",
    source=f"{SU}, with 10000 written as a parameter",
    reason="the definition of the parameter",
    features=("base",),
    conventions=("rotary_pairing",),
)
BASE_HISTORY = Property(
    key="base.history_independence",
    statement="A call with one base does not change calls with another base.",
    formula="f(x, p; b) = f(x, p; b) after f(x, p; b′), for b ≠ b′",
    source="tables kept by width and not by base are a known fault of libraries",
    reason="a function of its arguments by definition; only the program can break it",
    features=("base",),
)
ROTARY_DIM_UNTOUCHED = Property(
    key="rotary_dim.untouched",
    statement="Components beyond the rotary dimension stay as they are.",
    formula="f(x, p; r)_c = x_c for c ≥ r",
    source="partial rotation as in GPT-J and GPT-NeoX",
    reason="the definition of the parameter",
    features=("rotary_dim",),
)
ROTARY_DIM_NARROW = Property(
    key="rotary_dim.narrow_vector",
    statement="The leading components turn as they would in a vector that has no others.",
    formula="f(x, p; r)_{< r} = f(x_{< r}, p)",
    source="partial rotation as in GPT-J and GPT-NeoX: the frequencies are spaced over r, not over D",
    reason="the definition of the parameter",
    features=("rotary_dim",),
)
TOKENS = Property(
    key="tokens.permutation",
    statement="Reordering rows together with their positions reorders the results in the same way.",
    formula="f(P x, P p) = P f(x, p)",
    source=f"{SU}: each row is turned by its own position",
    reason="y[b, h, i] is made of x[b, h, i] and p[i] alone, by definition",
)
PER_SAMPLE = Property(
    key="positions.per_sample",
    statement="Positions given for each sample have the same effect as for that sample alone.",
    formula="f(x, p)[b] = f(x[b], p[b]), p (B, L)",
    source="docs/interface.md; offsets differ where prompts are padded on the left",
    reason="the definition of the parameter's second shape",
)
SHARED = Property(
    key="positions.shared",
    statement="Positions shared by all samples equal the same positions given for each.",
    formula="f(x, p) = f(x, p repeated for every sample), p (L,)",
    source="docs/interface.md",
    reason="the definition of the parameter's two shapes",
)
HEADS = Property(
    key="heads.independence",
    statement="A head's result does not depend on the other heads.",
    formula="f(x, p)[:, h] = f(x[:, h], p)",
    source=f"{SU}: one rotation, whatever the head",
    reason="y[b, h, i] is made of x[b, h, i] and p[i] alone, by definition",
)
BATCH = Property(
    key="batch.permutation",
    statement="Reordering the samples with their positions reorders the results in the same way.",
    formula="f(x[π], p[π]) = f(x, p)[π], π a permutation of the batch",
    source=f"{SU}: one rotation, whatever the sample",
    reason="y[b, h, i] is made of x[b, h, i] and its position alone, by definition",
)

ROTARY_LAWS = (
    VALUE,
    NORM,
    RELATIVE,
    ADDITIVE,
    POSITION_ZERO,
    LINEAR,
    BASE,
    BASE_HISTORY,
    ROTARY_DIM_UNTOUCHED,
    ROTARY_DIM_NARROW,
    TOKENS,
    PER_SAMPLE,
    SHARED,
    HEADS,
    BATCH,
)

LAWS = state(ROTARY_LAWS, ROTARY_EMBEDDING)
