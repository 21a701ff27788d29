"""Laws of the gradient of vectors that rotary positions turn."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.rotary_backward import ROTARY_EMBEDDING_BACKWARD

SU = "Su et al. 2021, section 3.2.2"
TRANSPOSE = f"{SU}: the transpose of a rotation matrix is the rotation back"
BACK = "The gradient is turned back"

GRAD_X = Property(
    key="grad_x",
    statement="The gradient of each pair of components is turned back by the position times the pair's frequency.",
    formula="(dx_a, dx_b) = (dO_a cos pθ_k + dO_b sin pθ_k, dO_b cos pθ_k − dO_a sin pθ_k), θ_k = base^(−2k/r)",
    source=TRANSPOSE,
    derivation="rotary",
    steps=(BACK,),
    conventions=("rotary_pairing",),
)
NORM = Property(
    key="norm",
    statement="The gradient of every pair is as long as that of the turned pair.",
    formula="dx_a² + dx_b² = dO_a² + dO_b²",
    source="cos² + sin² = 1 in each pair",
    derivation="rotary",
    steps=(BACK, "Every pair keeps its length"),
    conventions=("rotary_pairing",),
)
INVERSE = Property(
    key="inverse",
    statement="The gradient of what was turned gives back what was turned.",
    formula="dx(x, p, R_p g) = g",
    source=TRANSPOSE,
    derivation="rotary",
    steps=(BACK, "Turning back gives the vector back"),
    conventions=("rotary_pairing",),
)
POSITION_ZERO = Property(
    key="position_zero",
    statement="At position 0 the gradient passes unchanged.",
    formula="p = 0: dx = dO",
    source="cos 0 = 1 and sin 0 = 0",
    derivation="rotary",
    steps=("Turning back gives the vector back",),
)
ADDITIVE = Property(
    key="additive",
    statement="Turning back by one position and then by another is turning back by their sum.",
    formula="dx(m, dx(n, dO)) = dx(m + n, dO)",
    source="rotations of one plane add their angles",
    derivation="rotary",
    steps=(BACK, "Turning twice is turning by the sum"),
)
VECTORS = Property(
    key="x.no_influence",
    statement="The values of the vectors do not matter.",
    formula="dx(x, p, dO) = dx(x′, p, dO)",
    source=f"{SU}: multiplication by a rotation matrix",
    derivation="rotary",
    steps=(BACK,),
)
BASE_HISTORY = Property(
    key="base.history_independence",
    statement="A call with one base does not change calls with another base.",
    formula="dx(…; b) = dx(…; b) after dx(…; b′), for b ≠ b′",
    source="tables kept by width and not by base are a known fault of libraries",
    reason="a function of its arguments by definition; only the program can break it",
    features=("base",),
)
ROTARY_DIM_UNTOUCHED = Property(
    key="rotary_dim.untouched",
    statement="Components beyond the rotary dimension pass their gradient unchanged.",
    formula="dx(x, p, dO; r)_c = dO_c for c ≥ r",
    source="partial rotation as in GPT-J and GPT-NeoX",
    reason="the components there are returned as they are, by the definition of the parameter",
    features=("rotary_dim",),
)
ROTARY_DIM_NARROW = Property(
    key="rotary_dim.narrow_vector",
    statement="The gradients of the leading components are those of a vector that has no others.",
    formula="dx(x, p, dO; r)_{< r} = dx(x_{< r}, p, dO_{< r})",
    source="partial rotation as in GPT-J and GPT-NeoX: the frequencies are spaced over r, not over D",
    reason="the definition of the parameter",
    features=("rotary_dim",),
)
TOKENS = Property(
    key="tokens.permutation",
    statement="Reordering rows with their positions and gradients reorders the gradients in the same way.",
    formula="dx(P x, P p, P dO) = P dx(x, p, dO)",
    source=f"{SU}: each row is turned by its own position",
    reason="dx[b, h, i] is made of dO[b, h, i] and p[i] alone, by definition",
)
PER_SAMPLE = Property(
    key="positions.per_sample",
    statement="Positions given for each sample have the same effect as for that sample alone.",
    formula="dx(x, p, dO)[b] = dx(x[b], p[b], dO[b]), p (B, L)",
    source="docs/interface.md; offsets differ where prompts are padded on the left",
    reason="the definition of the parameter's second shape",
)
HEADS = Property(
    key="heads.independence",
    statement="The gradient of a head does not depend on the other heads.",
    formula="dx(x, p, dO)[:, h] = dx(x[:, h], p, dO[:, h])",
    source=f"{SU}: one rotation, whatever the head",
    reason="dx[b, h, i] is made of dO[b, h, i] and p[i] alone, by definition",
)
BATCH = Property(
    key="batch.permutation",
    statement="Reordering the samples with their positions and gradients reorders the gradients in the same way.",
    formula="dx(x[π], p[π], dO[π]) = dx(x, p, dO)[π], π a permutation of the batch",
    source=f"{SU}: one rotation, whatever the sample",
    reason="dx[b, h, i] is made of dO[b, h, i] and its position alone, by definition",
)

ROTARY_BACKWARD_LAWS = (
    GRAD_X,
    NORM,
    INVERSE,
    POSITION_ZERO,
    ADDITIVE,
    VECTORS,
    BASE_HISTORY,
    ROTARY_DIM_UNTOUCHED,
    ROTARY_DIM_NARROW,
    TOKENS,
    PER_SAMPLE,
    HEADS,
    BATCH,
)

LAWS = state((*ROTARY_BACKWARD_LAWS, *EVERY_BACKWARD_PASS), ROTARY_EMBEDDING_BACKWARD)
