"""Concat(head_1, …, head_H) W_O = Σ_r head_r W_O^(r), with heads and components counted from 0."""

from __future__ import annotations

from sympy import Expr, Function, IndexedBase, Integer, Symbol
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Quotient, Range, Remainder, total
from veriformer.spec.derivations.formulas import (
    Entries,
    array,
    attention,
    entry_of,
    index,
    projection,
    scaled_score,
    size,
    up_to,
)
from veriformer.spec.derivations.provers import EUCLIDEAN_DIVISION

H, L, d_model, d_k, d_v = size("H"), size("L"), size("d_model"), size("d_k"), size("d_v")
TOKENS = up_to(L)
HEADS: Range = (Integer(0), H - 1)
COMPONENTS: Range = (Integer(0), d_v - 1)
CONCATENATED: Range = (Integer(0), H * d_v - 1)
i, e, column = index("i"), index("e"), index("c")
head, component = Symbol("r", integer=True, nonnegative=True), Symbol("a", integer=True, nonnegative=True)
slack = Symbol("t", integer=True, nonnegative=True)
heads, w_output, inputs = array("Z"), array("W_O"), array("X")
w_query, w_key, w_value = array("W_Q"), array("W_K"), array("W_V")
pi = Function("pi", integer=True)

RANGES = {i: TOKENS, e: up_to(d_model)}
PAIRS = Context(ranges=RANGES, pairings={CONCATENATED: (H, d_v)})
FITS = Context(parametrisation={d_v: component + 1 + slack})


def concatenated(row: Expr, place: Expr) -> Expr:
    """Component `place` of Concat(head_0, …): head ⌊place/d_v⌋, component place mod d_v."""
    return heads[Quotient(place, d_v), row, Remainder(place, d_v)]


def output_rows(place: Expr, out: Expr) -> Expr:
    """Row `place` of W_O, named by the block W_O^(r) in which it lies and its row there."""
    return w_output[Quotient(place, d_v), Remainder(place, d_v), out]


def sum_of_heads(z: Entries, w: Entries, heads_range: Range = HEADS) -> Expr:
    """Σ_r Σ_a z(r, i, a) w(r, a, e)."""
    return total(lambda r: total(lambda c: z(r, i, c) * w(r, c, e), "a", COMPONENTS), "r", heads_range)


def head_output(r: Expr, row: Expr, c: Expr) -> Expr:
    """Head r: attention with queries X W_Q^(r), keys X W_K^(r) and values X W_V^(r)."""

    def own(weight: IndexedBase) -> Entries:
        return projection(entry_of(inputs), lambda b, place: weight[r, b, place], d_model)

    return attention(scaled_score(own(w_query), own(w_key), d_k), own(w_value), TOKENS)(row, c)


def merged_without_transposing(row: Expr, place: Expr) -> Expr:
    """Entry (row, place) when the array of order (head, token, component) is read as (token, head·component)."""
    flat = row * (H * d_v) + place
    within = Remainder(flat, L * d_v)
    return heads[Quotient(flat, L * d_v), Quotient(within, d_v), Remainder(within, d_v)]


THREE_HEADS = World(
    symbols={H: 3, L: 2, d_v: 1, i: 1, column: 1},
    arrays={(heads, (2, 0, 0)): 4, (heads, (1, 1, 0)): 3},
)

LAYOUT = (
    Step(
        "The head that a component of the concatenation belongs to",
        Quotient(head * d_v + component, d_v),
        head,
        "Head r occupies the places r d_v, …, r d_v + d_v − 1. For a < d_v write d_v = a + 1 + t.",
        EUCLIDEAN_DIVISION,
        FITS,
    ),
    Step(
        "The component of that head",
        Remainder(head * d_v + component, d_v),
        component,
        "The remainder of the same division. So places and pairs (r, a) correspond one to one.",
        EUCLIDEAN_DIVISION,
        FITS,
    ),
    Difference(
        "Merging heads without transposing gives something else",
        merged_without_transposing(i, column),
        concatenated(i, column),
        "Three heads r, two tokens i, width 1, entries 2r + i: place 1 of token 1 must be head 1 of token 1 (value "
        "3); read without transposing it is head 2 of token 0 (value 4). The shapes agree, so nothing complains.",
        example=THREE_HEADS,
        values=("4", "3"),
        optional=True,
    ),
)

SUM = (
    Step(
        "Concatenate and project: a sum over heads",
        total(lambda place: concatenated(i, place) * output_rows(place, e), "c", CONCATENATED),
        sum_of_heads(entry_of(heads), entry_of(w_output)),
        "Sum over the pairs (r, a) instead of the places. W_O consists of the blocks of the heads, W_O^(r), one below "
        "the other, each with d_v rows and d_model columns.",
        context=PAIRS,
    ),
    Step(
        "Permuting the heads together with the blocks of W_O changes nothing",
        sum_of_heads(lambda r, *rest: heads[(pi(r), *rest)], lambda r, *rest: w_output[(pi(r), *rest)]),
        sum_of_heads(entry_of(heads), entry_of(w_output)),
        "A sum may be taken in any order. So heads have no identity but through their weights.",
        context=Context(ranges=RANGES, bijections={pi: HEADS}),
    ),
    Difference(
        "Permuting the heads alone changes the output",
        heads[1, 0, 0] * w_output[0, 0, 0] + heads[0, 0, 0] * w_output[1, 0, 0],
        heads[0, 0, 0] * w_output[0, 0, 0] + heads[1, 0, 0] * w_output[1, 0, 0],
        "Two heads of width 1 with outputs 2 and 5 and projections 3 and 7: 29 instead of 41.",
        example=World(
            arrays={
                (heads, (0, 0, 0)): 2,
                (heads, (1, 0, 0)): 5,
                (w_output, (0, 0, 0)): 3,
                (w_output, (1, 0, 0)): 7,
            }
        ),
        values=("29", "41"),
        optional=True,
    ),
    Step(
        "One head is attention with projected inputs",
        sum_of_heads(head_output, entry_of(w_output), (Integer(0), Integer(0))),
        total(lambda c: head_output(Integer(0), i, c) * w_output[0, c, e], "a", COMPONENTS),
        "The sum over heads has one term: Attention(X W_Q, X W_K, X W_V) W_O.",
        context=Context(ranges=RANGES),
    ),
    Step(
        "Equal heads that share the projection are one head",
        sum_of_heads(lambda r, *rest: heads[(0, *rest)], lambda r, c, out: w_output[0, c, out] / H),
        total(lambda c: heads[0, i, c] * w_output[0, c, e], "a", COMPONENTS),
        "H equal heads, each projected with the block of head 0 divided by H, add up to that one head projected with "
        "its block.",
        context=Context(ranges=RANGES),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="multi_head",
    title="Concatenating heads and projecting is a sum over heads",
    opening=(
        "What does it mean to concatenate heads and to project the result? It is a sum of one term for each head, "
        "so the heads work independently, and the layout of the concatenation matters only together with the output "
        "matrix."
    ),
    see_also=(
        "grouped_query",
        "independence",
    ),
    symbols=(
        Meaning((H, L), "how many heads and how many tokens there are"),
        Meaning((d_model, d_k, d_v), "the widths of a token, of a query or key, and of a value"),
        Meaning((i,), "the number of a token"),
        Meaning((e,), "the number of an output component"),
        Meaning((column,), "a place in the concatenation, from 0 to H d_v − 1"),
        Meaning((head, component), "the number of a head, and that of a component of it, both from 0"),
        Meaning((slack,), "d_v − 1 − a, at least 0"),
        Meaning((heads,), "the outputs of the heads: Z_ria is component a of head r for token i"),
        Meaning((w_output,), "the output matrix: (W_O)_rae is row a of the block of head r"),
        Meaning((inputs,), "the tokens, one row for each"),
        Meaning((w_query, w_key, w_value), "the matrices of every head; the first index is the head"),
        Meaning((pi,), "a permutation of the heads"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Heads and components are counted from 0; head r has width d_v, which need not be d_model / H.",
        "W_O has H·d_v rows; W_O^(r) is its block of rows r d_v, …, r d_v + d_v − 1.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.2",
            "MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O",
        ),
        Source("Seed document 003", "All these projections are summed"),
        Source(
            "Seed document 001",
            "1. Split embedding into $h$ heads",
            "the projected queries, keys and values are split",
        ),
    ),
    steps=LAYOUT + SUM,
    remarks=("Where the transposed matrix is stored, the blocks are transposed too and stand side by side.",),
)
