"""Laws of clipping gradients by the norm of all of them."""

from __future__ import annotations

from veriformer.spec.laws.interface import WORKED_EXAMPLES
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.clipping import CLIP_BY_GLOBAL_NORM

ALGORITHM = "Pascanu, Mikolov & Bengio 2013, section 3.2, algorithm 1"
_EPS = ("clip_norm_eps",)

VALUE = Property(
    key="value",
    statement="Every gradient is multiplied by the bound over the norm of all gradients, and by 1 within the bound.",
    formula="y_i = g_i · min(1, max_norm / ‖g‖), ‖g‖ = √(Σ g²) over all arrays",
    source=ALGORITHM,
    reason="the definition",
    conventions=_EPS,
)
NORM = Property(
    key="norm",
    statement="The norm of the result is that of the gradients, or the bound where they exceed it.",
    formula="‖y‖ = min(‖g‖, max_norm)",
    source=ALGORITHM,
    derivation="clipping",
    steps=("Beyond the bound the norm becomes the bound", "Within the bound nothing changes"),
    conventions=_EPS,
)
BOUNDED = Property(
    key="bounded",
    statement="The norm of the result never exceeds the bound.",
    formula="‖y‖ ≤ max_norm",
    source=ALGORITHM,
    derivation="clipping",
    steps=("Beyond the bound the norm becomes the bound", "No addition to the norm makes the result longer"),
)
WITHIN = Property(
    key="within",
    statement="Gradients within the bound stay as they are.",
    formula="‖g‖ < max_norm: y = g",
    source=f"{ALGORITHM}: clipping is done if the norm reaches the threshold",
    derivation="clipping",
    steps=("Within the bound nothing changes",),
    conventions=_EPS,
)
ONE_FACTOR = Property(
    key="one_factor",
    statement="All entries of all arrays are multiplied by one factor, so that the direction is kept.",
    formula="y_i g_k = y_k g_i for all entries i, k of all arrays",
    source=f"{ALGORITHM}: the whole gradient is rescaled",
    derivation="clipping",
    steps=("One factor keeps the direction",),
)
GROUPING = Property(
    key="grouping",
    statement="How the entries are grouped into arrays has no influence.",
    formula="f([a, b]) = f([(a, b)]), the arrays joined into one",
    source=f"{ALGORITHM}: the norm is that of the whole gradient",
    derivation="clipping",
    steps=("The norm of the norms is the norm of all entries",),
)
ORDER = Property(
    key="order",
    statement="Arrays in another order give the same results in that order.",
    formula="f(g_π) = f(g)_π for a permutation π of the arrays",
    source="a sum does not depend on the order of its terms",
    derivation="clipping",
    steps=("The norm of the norms does not depend on their order",),
)
SCALE = Property(
    key="scale",
    statement="How large gradients are beyond the bound has no influence.",
    formula="‖g‖ ≥ max_norm, α ≥ 1: f(α g) = f(g)",
    source=f"{ALGORITHM}; section 3.2: only the direction is left",
    derivation="clipping",
    steps=("The scale of large gradients cancels",),
    conventions=_EPS,
)
HOMOGENEITY = Property(
    key="homogeneity",
    statement="Gradients and bound of another scale give results of that scale.",
    formula="f(α g; α max_norm) = α f(g; max_norm), α > 0",
    source="both sides of the comparison have the same unit",
    derivation="clipping",
    steps=("Gradients and bound scale together",),
    conventions=_EPS,
)
IDEMPOTENCE = Property(
    key="idempotence",
    statement="Clipping twice is clipping once.",
    formula="f(f(g)) = f(g)",
    source=f"{ALGORITHM}: the clipped gradient is within the bound",
    derivation="clipping",
    steps=("Clipping again multiplies by one", "Within the bound nothing changes"),
    conventions=_EPS,
)
ODDNESS = Property(
    key="oddness",
    statement="Negating the gradients negates the result.",
    formula="f(−g) = −f(g)",
    source="a norm does not depend on signs",
    derivation="clipping",
    steps=("Clipping is odd",),
)
ZEROS = Property(
    key="zeros",
    statement="Gradients that are all zero stay zero.",
    formula="f(0) = 0",
    source=f"{ALGORITHM}: a norm of 0 is within every bound",
    derivation="clipping",
    steps=("Within the bound nothing changes",),
)

LAWS = state(
    (
        WORKED_EXAMPLES,
        VALUE,
        NORM,
        BOUNDED,
        WITHIN,
        ONE_FACTOR,
        GROUPING,
        ORDER,
        SCALE,
        HOMOGENEITY,
        IDEMPOTENCE,
        ODDNESS,
        ZEROS,
    ),
    CLIP_BY_GLOBAL_NORM,
)
