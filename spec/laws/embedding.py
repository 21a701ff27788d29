"""Laws of the table that turns tokens into vectors."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.embedding import TOKEN_EMBEDDING

VASWANI = "Vaswani et al. 2017, section 3.4"
LOOKUP = "Phuong & Hutter 2022, algorithm 1 (token embedding)"

VALUE = Property(
    key="value",
    statement="Each token's vector is the row of the table that has its number.",
    formula="f(t, W)[b, i] = W[t_bi]",
    source=LOOKUP,
    reason="the definition",
)
ONE_HOT = Property(
    key="one_hot",
    statement="A lookup is the product of one-hot rows and the table.",
    formula="f(t, W) = one-hot(t) W, exactly",
    source="the row of an identity matrix selects: Σ_v δ_tv W_vc = W_tc",
    reason="the sum over the vocabulary has one term that is not zero",
)
VOCABULARY = Property(
    key="vocabulary.permutation",
    statement="Renumbering the vocabulary in both tokens and table changes nothing.",
    formula="f(π(t), P W) = f(t, W), (P W)[π(v)] = W[v]",
    source="a number stands for its row and for nothing else",
    reason="(P W)[π(t)] = W[t] by the definition of P",
)
LOCALITY = Property(
    key="tokens.independence",
    statement="Changing a token changes its own vector and no other.",
    formula="t′ = t but at (b, i): f(t′, W) = f(t, W) but at (b, i)",
    source="a row is looked up for each position alone",
    reason="no other token occurs in the definition of an entry",
)
REPEATED = Property(
    key="tokens.repeated",
    statement="Equal tokens have equal vectors at all positions.",
    formula="t_bi = t_ck: f(t, W)[b, i] = f(t, W)[c, k]",
    source="a vector depends on the token and not on its position",
    reason="the position occurs in the definition only as the index of the token",
)
SCALE = Property(
    key="scale",
    statement="Scaled, every vector is the row of the table times the square root of its width.",
    formula="f(t, W; scale_by_sqrt_d_model) = √E W[t]",
    source=f"{VASWANI}: in the embedding layers, we multiply those weights by √d_model",
    reason="the definition of the parameter",
    features=("scale_by_sqrt_d_model",),
)

EMBEDDING_LAWS = (VALUE, ONE_HOT, VOCABULARY, LOCALITY, REPEATED, SCALE)

LAWS = state(EMBEDDING_LAWS, TOKEN_EMBEDDING)
