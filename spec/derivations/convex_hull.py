"""Each output is a convex combination of the values: it lies in every half-space that contains them all."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, IndexedBase, Integer
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import (
    array,
    attention,
    entry_of,
    index,
    real,
    scaled_score,
    size,
    up_to,
    weights,
)

S, d_k, d_v = size("S"), size("d_k"), size("d_v")
KEYS, COMPONENTS = up_to(S), up_to(d_v)
i, e = index("i"), index("e")
query, key, value, other_value = array("Q"), array("K"), array("V"), array("U")
common_key, direction, x, keep = array("k"), array("u"), array("x"), array("B")
bound, alpha, beta = real("m"), real("alpha"), real("beta")
slack, constant = IndexedBase("s", nonnegative=True), array("c")
CONTEXT = Context(ranges={i: KEYS, e: COMPONENTS}, indicators=frozenset({keep}))
score = scaled_score(entry_of(query), entry_of(key), d_k)


masked_attention = attention(score, entry_of(value), KEYS, entry_of(keep))
row_weights = weights(lambda m: score(i, m), KEYS, lambda m: keep[i, m])


def along(vector: Callable[[Expr], Expr]) -> Expr:
    """⟨u, vector⟩."""
    return total(lambda c: direction[c] * vector(c), "c", COMPONENTS)


HALF_SPACES = (
    Step(
        "In every direction, the output is the weighted mean of the values",
        along(lambda c: masked_attention(i, c)) - bound,
        total(lambda m: row_weights(m) * (along(lambda c: value[m, c]) - bound), "j", KEYS),
        "The weights sum to 1, so any number m can be subtracted inside the sum. For a vector, ⟨u, V_j⟩ is its inner "
        "product with u.",
        context=CONTEXT,
    ),
    Inequality(
        "A half-space that contains all values contains the output",
        total(lambda m: row_weights(m) * slack[m], "j", KEYS),
        Integer(0),
        "If ⟨u, V_j⟩ − m = s_j ≥ 0 for every value V_j, then ⟨u, o⟩ − m = Σ p_j s_j ≥ 0. A closed convex set is the "
        "intersection of the half-spaces that contain it, so the output lies in the convex hull of the values.",
        context=CONTEXT,
        certificate=total(lambda m: row_weights(m) * slack[m], "j", KEYS),
    ),
)

CONSEQUENCES = (
    Step(
        "Equal values are reproduced",
        attention(score, lambda m, c: constant[c], KEYS, entry_of(keep))(i, e),
        constant[e],
        "The convex hull of one point is that point.",
        context=CONTEXT,
    ),
    Step(
        "The output is linear in the values",
        attention(score, lambda m, c: alpha * value[m, c] + beta * other_value[m, c], KEYS, entry_of(keep))(i, e),
        alpha * masked_attention(i, e) + beta * attention(score, entry_of(other_value), KEYS, entry_of(keep))(i, e),
        "The weights do not depend on the values.",
        context=CONTEXT,
    ),
    Step(
        "Equal keys give the mean of the values, whatever the query",
        attention(scaled_score(entry_of(query), lambda m, c: common_key[c], d_k), entry_of(value), KEYS)(i, e),
        total(lambda m: value[m, e], "j", KEYS) / S,
        "All logits of a row are equal, so all weights are 1/S.",
        context=CONTEXT,
    ),
    Step(
        "A single key gives its value",
        attention(score, entry_of(value), up_to(1))(i, e),
        value[1, e],
        "The only weight is 1.",
        context=CONTEXT,
    ),
    Difference(
        "The output is not linear in the tokens",
        attention(lambda row, m: 4 * x[row] * x[m], lambda m, c: 2 * x[m], up_to(2))(Integer(2), Integer(1)),
        2 * attention(lambda row, m: x[row] * x[m], lambda m, c: x[m], up_to(2))(Integer(2), Integer(1)),
        "Two tokens 1 and 2 that are their own queries, keys and values, doubled: the second output is "
        "(2e⁸ + 4e¹⁶)/(e⁸ + e¹⁶), and not twice what it was, (2e² + 4e⁴)/(e² + e⁴).",
        example=World(arrays={(x, (1,)): 1, (x, (2,)): 2}),
        values=("3.99933", "3.76159"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="convex_hull",
    title="Attention returns a convex combination of the values",
    opening=(
        "Where can an output of attention lie, whatever the weights are? Each output is a weighted mean of the "
        "values, so it never leaves the region between them, and an implementation whose output does has wrong "
        "weights."
    ),
    see_also=(
        "attention_rounding",
        "inner_products",
    ),
    symbols=(
        Meaning((S,), "how many keys there are"),
        Meaning((d_k, d_v), "the widths of a key and of a value"),
        Meaning((i, index("j")), "the numbers of a query and of a key"),
        Meaning((e,), "the number of a component"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((other_value,), "other values"),
        Meaning((keep,), "the mask: 1 where a query may attend to a key, 0 elsewhere"),
        Meaning((common_key,), "one key that stands at every place"),
        Meaning((direction,), "any direction: a vector with d_v components"),
        Meaning((bound,), "the number that bounds a half-space: all vectors whose inner product with u is at least m"),
        Meaning((slack,), "s_j is by how much the inner product of u and value j exceeds m"),
        Meaning((alpha, beta), "two numbers"),
        Meaning((constant,), "one value that stands at every place"),
        Meaning((x,), "two tokens of one component"),
        Meaning((array("p"),), "the weights of the row: p_j is that of key j"),
        Meaning((array("o"),), "the output"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Every row has at least one visible key.",
        "Scores are finite real numbers; B is any 0/1 mask.",
    ),
    sources=(
        Source(
            "Seed document 004, section Per-position View",
            "each $z_i$ is given by a convex combination of the $V_j$'s",
        ),
        Source("Seed document 003", "Compute *linear combinations* of the rows", "convex ones"),
        Source("Seed document 002", "Basically all our attention operations are linear", "in the values only"),
    ),
    steps=HALF_SPACES + CONSEQUENCES,
    remarks=("In particular no component of an output exceeds the largest magnitude of that component of the values.",),
)
