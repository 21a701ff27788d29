"""f(PX) = P f(X) without a mask; the effect of a mask; and why a sum may be taken in any order."""

from __future__ import annotations

from sympy import Expr, Function, IndexedBase, Integer, KroneckerDelta
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import Entry, World
from veriformer.spec.derivations.expressions import total
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

n, d_model, d_k, d_v = size("n"), size("d_model"), size("d_k"), size("d_v")
TOKENS = up_to(n)
i, e, first, second = index("i"), index("e"), index("a"), index("b")
f, x, keep = array("f"), array("x"), array("B")
query, key, value, inputs, bias = array("Q"), array("K"), array("V"), array("X"), array("M")
w_query, w_key, w_value = array("W_Q"), array("W_K"), array("W_V")
pi, rho = Function("pi", integer=True), Function("rho", integer=True)

RANGES = {i: TOKENS, first: TOKENS, second: TOKENS, e: up_to(d_v)}
NO_PERMUTATION = Context(ranges=RANGES)
PERMUTED = Context(ranges=RANGES, bijections={pi: TOKENS})
TWICE_PERMUTED = Context(ranges=RANGES, bijections={pi: TOKENS, rho: TOKENS})


def rows_permuted(base: IndexedBase) -> Entries:
    """The array with its rows permuted: row i is row π(i) of the original."""
    return lambda row, *rest: base[(pi(row), *rest)]


REORDERED = Definition(array("Q'"), rows_permuted(query), (i, index("c")))


def attend(q: Entries, k: Entries, v: Entries) -> Entries:
    """Attention over all tokens."""
    return attention(scaled_score(q, k, d_k), v, TOKENS)


def self_attend(tokens: Entries, added: Entries | None = None) -> Entries:
    """Self-attention with projections; a bias may be added to the scores."""
    queries, keys, values = (projection(tokens, entry_of(weight), d_model) for weight in (w_query, w_key, w_value))
    score = scaled_score(queries, keys, d_k)
    biased = score if added is None else (lambda row, m: score(row, m) + added(row, m))
    return attention(biased, values, TOKENS)


def transposed(place: Expr) -> Expr:
    """f(τ(place)) for the transposition τ = (a b), a ≠ b."""
    swap = KroneckerDelta(place, first) * (f[second] - f[first])
    return f[place] + swap + KroneckerDelta(place, second) * (f[first] - f[second])


REORDERING = (
    Step(
        "Exchanging two terms of a sum changes nothing",
        total(transposed, "j", TOKENS),
        total(entry_of(f), "j", TOKENS),
        "Exchange the terms at a and b. What the sum loses at one place it gains at the other: the two corrections "
        "cancel.",
        context=NO_PERMUTATION,
    ),
    Step(
        "A composition of reorderings changes nothing",
        total(lambda m: f[pi(rho(m))], "j", TOKENS),
        total(entry_of(f), "j", TOKENS),
        "A sum that stays the same under π and under ρ, whatever f is, stays the same under one after the other. Every "
        "permutation is a composition of exchanges of two places, so no permutation changes a sum.",
        context=TWICE_PERMUTED,
    ),
)

KEYS_AND_VALUES = (
    Step(
        "Permuting keys and values together changes nothing",
        attend(entry_of(query), rows_permuted(key), rows_permuted(value))(i, e),
        attend(entry_of(query), entry_of(key), entry_of(value))(i, e),
        "Numerator and denominator are sums over the keys.",
        context=PERMUTED,
    ),
    Step(
        "Permuting the queries permutes the outputs",
        attend(entry_of(REORDERED.name), entry_of(key), entry_of(value))(i, e),
        attend(entry_of(query), entry_of(key), entry_of(value))(pi(i), e),
        "Output i is a function of query i and of nothing else about the queries.",
        context=PERMUTED,
        where=(REORDERED,),
    ),
    Difference(
        "Permuting the keys without the values is another function",
        attention(lambda row, m: x[pi(m)], lambda m, c: f[m], up_to(2))(Integer(1), e),
        attention(lambda row, m: x[m], lambda m, c: f[m], up_to(2))(Integer(1), e),
        "Two keys with the logits 0 and 1 and the values 0 and 1: only the keys are exchanged.",
        example=World(arrays={(x, (1,)): 0, (x, (2,)): 1, (f, (1,)): 0, (f, (2,)): 1}, permutations={pi: {1: 2, 2: 1}}),
        values=("0.2689", "0.7311"),
        optional=True,
    ),
)

CAUSAL: dict[Entry, int] = {(keep, (row, column)): int(column <= row) for row in (1, 2) for column in (1, 2)}
TWO_TOKENS = World(arrays={(x, (1,)): 0, (x, (2,)): 1, **CAUSAL}, permutations={pi: {1: 2, 2: 1}})


def small(tokens: Entries, keep_entry: Entries | None = None) -> Entries:
    """Self-attention of two scalar tokens that are their own queries, keys and values."""
    return attention(lambda row, m: tokens(row) * tokens(m), lambda m, c: tokens(m), up_to(2), keep_entry)


plain, shuffled = self_attend(entry_of(inputs)), self_attend(rows_permuted(inputs))

SELF_ATTENTION = (
    Step(
        "Self-attention is equivariant",
        shuffled(i, e),
        plain(pi(i), e),
        "Queries, keys and values are permuted together, because each token is projected alone. So output i of the "
        "reordered tokens is output π(i) of the others.",
        context=PERMUTED,
    ),
    Difference(
        "Self-attention is not invariant",
        small(rows_permuted(x))(Integer(1), e),
        small(entry_of(x))(Integer(1), e),
        "Two tokens 0 and 1, exchanged: the first output changes from 1/2 to e/(1 + e).",
        example=TWO_TOKENS,
        values=("0.7311", "0.5"),
        optional=True,
    ),
    Step(
        "The mean of the outputs is invariant",
        total(lambda row: shuffled(row, e), "i", TOKENS) / n,
        total(lambda row: plain(row, e), "i", TOKENS) / n,
        "Permuted outputs have the same mean.",
        context=PERMUTED,
        optional=True,
    ),
    Difference(
        "A causal mask breaks the equivariance",
        small(rows_permuted(x), entry_of(keep))(Integer(1), e),
        small(entry_of(x), entry_of(keep))(pi(Integer(1)), e),
        "Tokens 0 and 1, exchanged, under a causal mask: the token 1 now stands first and sees only itself, so its "
        "output is 1 and no longer e/(1 + e).",
        example=TWO_TOKENS,
        values=("1", "0.7311"),
        optional=True,
    ),
    Step(
        "A mask that is permuted with the tokens keeps the equivariance",
        self_attend(rows_permuted(inputs), lambda row, m: bias[pi(row), pi(m)])(i, e),
        self_attend(entry_of(inputs), lambda row, m: bias[row, m])(pi(i), e),
        "The score of two tokens, bias included, then moves with them.",
        context=PERMUTED,
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="permutation",
    title="Self-attention is equivariant under permutation of its tokens",
    opening=(
        "What happens to the outputs of self-attention when its tokens come in another order? Without a mask and "
        "positions they are permuted in the same way and do not change otherwise, which is why a Transformer needs "
        "positional encodings."
    ),
    see_also=(
        "sinusoid_relative_position",
        "causality",
    ),
    symbols=(
        Meaning((n,), "how many tokens there are"),
        Meaning((d_model, d_k, d_v), "the widths of a token, of a query or key, and of a value"),
        Meaning((i, index("j")), "numbers of tokens"),
        Meaning((e,), "the number of a component"),
        Meaning((first, second), "two places that are exchanged"),
        Meaning((pi, rho), "permutations of 1, …, n"),
        Meaning((f,), "any n numbers; in the examples the values"),
        Meaning((x,), "logits, or tokens of one component"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((inputs,), "the tokens, one row for each"),
        Meaning((w_query, w_key, w_value), "the matrices that make queries, keys and values of the tokens"),
        Meaning((bias,), "a bias that is added to the scores"),
        Meaning((keep,), "a causal mask: 1 where query i may attend to key j, 0 elsewhere"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "π is any permutation of the n tokens; positions are used nowhere.",
        "No mask and no bias, unless a step names one.",
    ),
    sources=(
        Source("Seed document 004, section Positional Encoding", "self-attention is permutation-equivariant"),
        Source("Seed document 001", "Self-attention is permutation-invariant", "equivariant; see the exhibit"),
        Source("Lee et al. 2019, Set Transformer, property 1", comment="attention blocks are equivariant"),
    ),
    steps=REORDERING + KEYS_AND_VALUES + SELF_ATTENTION,
    remarks=(
        "One fact is used and not proved here: every permutation is a composition of exchanges of two places.",
        "A causal mask alone tells the model about order, even without positional encodings.",
    ),
)
