"""Laws of symmetry and independence."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

BATCH_INDEPENDENCE = Property(
    key="batch.independence",
    statement="A sample's result does not depend on the other samples of the batch.",
    formula="f(inputs)[b] = f(inputs[b])",
    source="the formula has no term in which two samples meet",
    derivation="independence",
    steps=(
        "No dependence on queries of another batch entry",
        "No dependence on keys of another batch entry",
        "No dependence on values of another batch entry",
        "No dependence on masks of another batch entry",
    ),
)
BATCH_PERMUTATION = Property(
    key="batch.permutation",
    statement="Reordering the samples reorders the results in the same way.",
    formula="f(inputs[π]) = f(inputs)[π], π a permutation of the batch",
    source="the formula has no term in which two samples meet",
    derivation="independence",
    steps=(
        "No dependence on queries of another batch entry",
        "No dependence on keys of another batch entry",
        "No dependence on values of another batch entry",
        "No dependence on masks of another batch entry",
    ),
)
HEAD_INDEPENDENCE = Property(
    key="heads.independence",
    statement="A head's result does not depend on the other heads.",
    formula="f(Q, K, V)[h] = f(Q_h, K_h, V_h)",
    source="Vaswani et al. 2017, section 3.2.2: heads are computed in parallel",
    derivation="independence",
    steps=(
        "No dependence on queries of another head",
        "No dependence on keys of another head",
        "No dependence on values of another head",
    ),
)
HEAD_PERMUTATION = Property(
    key="heads.permutation",
    statement="Reordering the heads reorders the results in the same way.",
    formula="f(Q[π], K[π], V[π]) = f(Q, K, V)[π], π a permutation of the heads",
    source="Vaswani et al. 2017, section 3.2.2",
    derivation="independence",
    steps=(
        "No dependence on queries of another head",
        "No dependence on keys of another head",
        "No dependence on values of another head",
    ),
)
QUERY_PERMUTATION = Property(
    key="queries.permutation",
    statement="Reordering the queries reorders the outputs in the same way.",
    formula="f(P Q, K, V) = P f(Q, K, V)",
    source="each query is answered alone",
    derivation="permutation",
    steps=("Permuting the queries permutes the outputs",),
)
KEY_PERMUTATION = Property(
    key="keys.permutation",
    statement="Reordering keys and values together changes nothing.",
    formula="f(Q, P K, P V) = f(Q, K, V)",
    source="a sum does not depend on the order of its terms",
    derivation="permutation",
    steps=("Permuting keys and values together changes nothing",),
)
TOKEN_PERMUTATION = Property(
    key="tokens.permutation",
    statement="Self-attention without positions is permutation equivariant.",
    formula="f(P X, P X, P X) = P f(X, X, X)",
    source="seed document 004: self-attention is permutation-equivariant (000 and 001 wrongly say invariant)",
    derivation="permutation",
    steps=("Self-attention is equivariant",),
)

SAMPLES = (BATCH_INDEPENDENCE, BATCH_PERMUTATION)
HEADS = (HEAD_INDEPENDENCE, HEAD_PERMUTATION)
ORDER = (QUERY_PERMUTATION, KEY_PERMUTATION, TOKEN_PERMUTATION)
