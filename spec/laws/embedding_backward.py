"""Laws of the gradient of the table that turns tokens into vectors."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.embedding_backward import TOKEN_EMBEDDING_BACKWARD

LOOKUP = "Phuong & Hutter 2022, algorithm 1 (token embedding): a lookup is a product with one-hot rows"
SUM = "The gradient of a table is the sum over the places of each token"

GRAD_TABLE = Property(
    key="grad_table",
    statement="The gradient of each row of the table is the sum of the gradients at the places of its token.",
    formula="dW[v] = Σ_(b, i: t_bi = v) dO[b, i]",
    source=LOOKUP,
    derivation="lookup",
    steps=(SUM,),
)
ABSENT = Property(
    key="tokens.absent",
    statement="A token that does not occur has no gradient.",
    formula="t_bi ≠ v for all b, i: dW[v] = 0",
    source=LOOKUP,
    derivation="lookup",
    steps=("A place adds to the row of its own token only",),
)
REPEATED = Property(
    key="tokens.repeated",
    statement="A token that stands everywhere gets the sum of all gradients.",
    formula="t_bi = v for all b, i: dW[v] = Σ_bi dO[b, i]",
    source="each use of a row has its own gradient, and the gradients of all uses add up",
    derivation="lookup",
    steps=(SUM,),
)
TOTAL = Property(
    key="total",
    statement="The rows of the gradient add up to all gradients of the vectors.",
    formula="Σ_v dW[v] = Σ_bi dO[b, i], times √E where scaled",
    source="each place belongs to one token",
    derivation="lookup",
    steps=("The rows of the gradient add up to that of all places",),
)
POSITIONS = Property(
    key="positions.permutation",
    statement="The order of the places does not matter.",
    formula="dW(P t, W, P dO) = dW(t, W, dO), P a permutation of all B L places",
    source="a sum does not depend on the order of its terms",
    derivation="lookup",
    steps=("The order of the places does not matter",),
)
VOCABULARY = Property(
    key="vocabulary.permutation",
    statement="Renumbering the vocabulary renumbers the rows of the gradient.",
    formula="dW(π(t), P W, dO)[π(v)] = dW(t, W, dO)[v], (P W)[π(v)] = W[v]",
    source="a number stands for its row and for nothing else",
    reason="t_bi = v where π(t_bi) = π(v), because π is a permutation",
)
LOCALITY = Property(
    key="grad_output.own",
    statement="The gradient at a place changes the row of its token and no other.",
    formula="dO′ = dO but at (b, i): dW′ = dW but at t_bi",
    source=LOOKUP,
    derivation="lookup",
    steps=("A place adds to the row of its own token only",),
)
TABLE = Property(
    key="table.no_influence",
    statement="The values of the table do not matter.",
    formula="dW(t, W, dO) = dW(t, W′, dO)",
    source="a lookup is linear in the table",
    derivation="lookup",
    steps=(SUM,),
)
SCALE = Property(
    key="scale",
    statement="Where the vectors are scaled by the square root of their width, so is the gradient of the table.",
    formula="dW(t, W, dO; scale_by_sqrt_d_model) = √E dW(t, W, dO)",
    source="Vaswani et al. 2017, section 3.4: in the embedding layers, we multiply those weights by √d_model",
    derivation="lookup",
    steps=("A scale of the vectors is one of the gradient",),
    features=("scale_by_sqrt_d_model",),
)

EMBEDDING_BACKWARD_LAWS = (GRAD_TABLE, ABSENT, REPEATED, TOTAL, POSITIONS, VOCABULARY, LOCALITY, TABLE, SCALE)

LAWS = state((*EMBEDDING_BACKWARD_LAWS, *EVERY_BACKWARD_PASS), TOKEN_EMBEDDING_BACKWARD)
