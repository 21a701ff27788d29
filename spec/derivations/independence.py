"""∂ output[b, h] / ∂ input[b', h'] = 0 for another batch entry or another head."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, KroneckerDelta
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial
from veriformer.spec.derivations.formulas import Entries, array, attention, index, scaled_score, size, up_to

B, H, L, S, d_k, d_v = size("B"), size("H"), size("L"), size("S"), size("d_k"), size("d_v")
b, other_b, h, other_h = index("b"), index("b'"), index("h"), index("h'")
i, j, k, a, e, f = index("i"), index("j"), index("k"), index("a"), index("e"), index("f")
query, key, value, bias, x = array("Q"), array("K"), array("V"), array("M"), array("x")
RANGES = {
    b: up_to(B),
    other_b: up_to(B),
    h: up_to(H),
    other_h: up_to(H),
    i: up_to(L),
    j: up_to(L),
    k: up_to(S),
    a: up_to(d_k),
    e: up_to(d_v),
    f: up_to(d_v),
}
OTHER_ENTRY = Context(ranges=RANGES, facts={KroneckerDelta(b, other_b): Integer(0)})
OTHER_HEAD = Context(ranges=RANGES, facts={KroneckerDelta(h, other_h): Integer(0)})
OTHER_QUERY = Context(ranges=RANGES, facts={KroneckerDelta(i, j): Integer(0)})


def part(base: IndexedBase) -> Entries:
    """Batch entry b, head h of an array."""
    return lambda *rest: base[(b, h, *rest)]


def output(row: Expr, component: Expr) -> Expr:
    """Attention of batch entry b, head h, with a bias of its own."""
    score = scaled_score(part(query), part(key), d_k)

    def biased(query_index: Expr, key_index: Expr) -> Expr:
        return score(query_index, key_index) + bias[b, h, query_index, key_index]

    return attention(biased, part(value), up_to(S))(row, component)


def vanishing(what: str, variable: Expr, context: Context, why: str) -> Step:
    """The step that the output does not depend on the variable."""
    return Step(f"No dependence on {what}", Partial(output(i, e), variable), Integer(0), why, context=context)


BATCH = (
    vanishing(
        "queries of another batch entry",
        query[other_b, h, i, a],
        OTHER_ENTRY,
        "The derivative has the factor δ_bb', which is 0 for b ≠ b'.",
    ),
    vanishing(
        "keys of another batch entry",
        key[other_b, h, k, a],
        OTHER_ENTRY,
        "The derivative has the factor δ_bb', which is 0 for b ≠ b'.",
    ),
    vanishing(
        "values of another batch entry",
        value[other_b, h, k, f],
        OTHER_ENTRY,
        "The derivative has the factor δ_bb', which is 0 for b ≠ b'.",
    ),
    vanishing(
        "masks of another batch entry",
        bias[other_b, h, i, k],
        OTHER_ENTRY,
        "The derivative has the factor δ_bb', which is 0 for b ≠ b'.",
    ),
)

HEADS = (
    vanishing(
        "queries of another head",
        query[b, other_h, i, a],
        OTHER_HEAD,
        "The derivative has the factor δ_hh', which is 0 for h ≠ h'.",
    ),
    vanishing(
        "keys of another head",
        key[b, other_h, k, a],
        OTHER_HEAD,
        "The derivative has the factor δ_hh', which is 0 for h ≠ h'.",
    ),
    vanishing(
        "values of another head",
        value[b, other_h, k, f],
        OTHER_HEAD,
        "The derivative has the factor δ_hh', which is 0 for h ≠ h'.",
    ),
)

QUERIES = (
    vanishing(
        "other queries of the same sequence",
        query[b, h, j, a],
        OTHER_QUERY,
        "Row i of the weights is a function of query i: the derivative has the factor δ_ij, which is 0.",
    ),
    vanishing("masks of other queries", bias[b, h, j, k], OTHER_QUERY, "Row i of the weights reads row i of the mask."),
    Difference(
        "The output does depend on its own keys",
        attention(lambda row, m: x[m], lambda m, c: m, up_to(2))(Integer(1), Integer(1)),
        attention(lambda row, m: 2 * x[m], lambda m, c: m, up_to(2))(Integer(1), Integer(1)),
        "So the zeros above are not those of a constant: logits 0 and 1 with values 1 and 2, then the logits doubled.",
        example=World(arrays={(x, (1,)): 0, (x, (2,)): 1}),
        values=("1.73106", "1.88080"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="independence",
    title="Batch entries and heads do not see each other",
    opening=(
        "Can one sequence of a batch, or one head, influence the output of another? It must not: a model that lets "
        "sequences leak into each other gives results that depend on what else is in the batch."
    ),
    see_also=("multi_head",),
    symbols=(
        Meaning((B,), "how many batch entries there are"),
        Meaning((H, L, S), "how many heads, queries and keys there are"),
        Meaning((d_k, d_v), "the widths of a key and of a value"),
        Meaning((b, other_b), "numbers of two different batch entries"),
        Meaning((h, other_h), "numbers of heads, different where a step says so"),
        Meaning((i, j), "numbers of queries"),
        Meaning((k,), "the number of a key"),
        Meaning((a, e, f), "numbers of components"),
        Meaning(
            (query, key, value), "queries, keys and values: the indices are batch entry, head, token and component"
        ),
        Meaning((bias,), "the mask in additive form: the indices are batch entry, head, query and key"),
        Meaning((x,), "two logits"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("Arrays have the axes batch, head, position, component, all of symbolic length.",),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.2",
            "On each of these projected versions of queries, keys and values we then perform the "
            "attention function in parallel",
        ),
    ),
    steps=BATCH + HEADS + QUERIES,
    remarks=("A softmax over a wrong axis, or a mask broadcast along the wrong one, violates one of these steps.",),
)
