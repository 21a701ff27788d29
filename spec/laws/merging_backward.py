"""Laws of the gradients of merged attention."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.gradients import LINEAR, NOTHING
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.merging import MILAKOV
from veriformer.spec.operations.merging_backward import MERGE_ATTENTION_BACKWARD

CHAIN = f"{MILAKOV}, by the chain rule"
DERIVATION = "merging_backward"

_OF_OUTPUT = ("The gradient of a part's output",)
_OF_LSE = (
    "The gradient of a part's log-sum-exp",
    "The gradient of the other part's log-sum-exp",
    "By the distance of the outputs",
)
_VALUES = (
    Property(
        key="grad_output_a",
        statement="The gradient of the first output is that of the merged one, times the weight of the part.",
        formula="d output_a = w_a dO, w_a = e^(lse_a − lse)",
        source=CHAIN,
        derivation=DERIVATION,
        steps=_OF_OUTPUT,
    ),
    Property(
        key="grad_lse_a",
        statement="The first log-sum-exp has a gradient by the weights and one by the merged log-sum-exp.",
        formula="d lse_a = w_a w_b Σ dO (output_a − output_b) + w_a d lse",
        source=CHAIN,
        derivation=DERIVATION,
        steps=_OF_LSE,
    ),
    Property(
        key="grad_output_b",
        statement="The gradient of the second output is that of the merged one, times the weight of the part.",
        formula="d output_b = w_b dO, w_b = e^(lse_b − lse)",
        source=CHAIN,
        derivation=DERIVATION,
        steps=_OF_OUTPUT,
    ),
    Property(
        key="grad_lse_b",
        statement="The second log-sum-exp has a gradient by the weights and one by the merged log-sum-exp.",
        formula="d lse_b = w_a w_b Σ dO (output_b − output_a) + w_b d lse",
        source=CHAIN,
        derivation=DERIVATION,
        steps=_OF_LSE,
    ),
)
LARGE = Property(
    key="large_logarithms",
    statement="Log-sum-exps far beyond the range of exp give finite gradients.",
    formula="|lse| > 88: the gradients are finite and equal the formula",
    source=MILAKOV,
    derivation=DERIVATION,
    steps=("A number added to both log-sum-exps changes no weight",),
)
EMPTY_PART = Property(
    key="empty_part",
    statement="A part without keys has no gradient, and the other part gets all of it.",
    formula="lse_a = −∞: d output_a = 0, d lse_a = 0, d output_b = dO, d lse_b = d lse",
    source="its weight e^(−∞) is a factor of both",
    derivation=DERIVATION,
    steps=(
        "An empty part's output has no gradient",
        "An empty part's log-sum-exp has no gradient",
        "Beside an empty part the other gets the whole gradient",
    ),
)
BOTH_EMPTY = Property(
    key="both_empty",
    statement="Two parts without keys have no gradient: zeros, not NaN.",
    formula="lse_a = lse_b = −∞: all four gradients are 0",
    source="docs/interface.md: two empty parts give (0, −∞); pytorch/pytorch#49724; jax-ml/jax#6811",
    reason="the merged part is (0, −∞) by definition, and a constant has no gradient",
)
EXCHANGED = Property(
    key="exchanged",
    statement="Exchanging the parts exchanges their gradients.",
    formula="g(b, a) = (g(a, b) of b, g(a, b) of a)",
    source=MILAKOV,
    derivation=DERIVATION,
    steps=(
        "The gradient of a part's log-sum-exp",
        "The gradient of the other part's log-sum-exp",
    ),
)
OUTPUTS_SUM = Property(
    key="outputs.sum",
    statement="The gradients of both outputs sum to that of the merged output.",
    formula="d output_a + d output_b = dO where a part has keys",
    source="the weights of the parts sum to one",
    derivation=DERIVATION,
    steps=("The gradients of the outputs sum to that of the merged output",),
)
LOGARITHMS_SUM = Property(
    key="logarithms.sum",
    statement="The gradients of both log-sum-exps sum to that of the merged one.",
    formula="d lse_a + d lse_b = d lse where a part has keys",
    source="one number added to both changes no output, and is added to the merged log-sum-exp",
    derivation=DERIVATION,
    steps=("The gradients of the log-sum-exps sum to that of the merged one",),
)
EQUAL_OUTPUTS = Property(
    key="outputs.equal",
    statement="If both outputs are equal, their gradient passes nothing on to the log-sum-exps.",
    formula="output_a = output_b: d lse_a = w_a d lse, d lse_b = w_b d lse",
    source="the merged output is the same whatever the weights are",
    derivation=DERIVATION,
    steps=("Equal outputs leave the log-sum-exps what comes by the merged one",),
)
HALVES = Property(
    key="equal_logarithms",
    statement="Of two parts with equal log-sum-exps each gets half, and what moves weight counts a quarter.",
    formula="lse_a = lse_b: d output_a = d output_b = dO / 2, d lse_a = Σ dO (output_a − output_b) / 4 + d lse / 2",
    source="w_a = w_b = 1/2; keras-team/keras#23616: a maximum of both has a gradient of its own there",
    derivation=DERIVATION,
    steps=("Equal log-sum-exps: both weights are one half", "By the distance of the outputs"),
)
SHIFT = Property(
    key="shift",
    statement="One number added to both log-sum-exps changes no gradient.",
    formula="g(output_a, lse_a + c, output_b, lse_b + c) = g(output_a, lse_a, output_b, lse_b)",
    source="the weights depend on the difference of the log-sum-exps only",
    derivation=DERIVATION,
    steps=("A number added to both log-sum-exps changes no weight",),
)
ROWS = Property(
    key="rows.independence",
    statement="The gradients of a query do not depend on those of other queries, heads or samples.",
    formula="g(inputs)[b, h, i] is the same for every inputs[b′, h′, i′], (b′, h′, i′) ≠ (b, h, i)",
    source=CHAIN,
    reason="the formula has no term in which two rows meet",
)
_LINEAR = "The gradients are linear in G and g together"

LAWS = state(
    (
        *_VALUES,
        LARGE,
        EMPTY_PART,
        BOTH_EMPTY,
        EXCHANGED,
        OUTPUTS_SUM,
        LOGARITHMS_SUM,
        EQUAL_OUTPUTS,
        HALVES,
        SHIFT,
        ROWS,
        replace(
            LINEAR,
            statement="The gradients are linear in those of the merged output and log-sum-exp together.",
            formula="g(a (dO, d lse) + b (dO′, d lse′)) = a g(dO, d lse) + b g(dO′, d lse′), g the gradients",
            derivation=DERIVATION,
            steps=(_LINEAR,),
        ),
        replace(
            NOTHING,
            statement="Where neither merged result has influence on the loss, nothing has a gradient.",
            formula="dO = 0, d lse = 0: g(dO, d lse) = 0",
            derivation=DERIVATION,
            steps=(_LINEAR,),
        ),
    ),
    MERGE_ATTENTION_BACKWARD,
)
