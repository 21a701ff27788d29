"""A causal mask keeps later inputs out, in one layer, through projections, in a prefix, and through a stack."""

from __future__ import annotations

from sympy import Expr, Integer, KroneckerDelta, Symbol, exp
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import (
    array,
    attention,
    entry_of,
    index,
    projection,
    scaled_score,
    size,
    up_to,
    weights,
)

L, S, d_model, d_k, d_v = size("L"), size("S"), size("d_model"), size("d_k"), size("d_v")
prefix, suffix = size("P"), size("R")
i, j, k, a, e, f = index("i"), index("j"), index("k"), index("a"), index("e"), index("f")
query, key, value, inputs = array("Q"), array("K"), array("V"), array("X")
w_query, w_key, w_value = array("W_Q"), array("W_K"), array("W_V")
keep, other_keep, x, v = array("B"), array("C"), array("x"), array("v")
TOKENS, KEYS = up_to(L), up_to(S)
WHOLE, PREFIX, SUFFIX = up_to(prefix + suffix), up_to(prefix), (prefix + 1, prefix + suffix)

KEY_HIDDEN = Context(
    ranges={i: TOKENS, k: KEYS, a: up_to(d_k), e: up_to(d_v), f: up_to(d_v)},
    indicators=frozenset({keep}),
    facts={keep[i, k]: Integer(0)},
)
TOKEN_HIDDEN = Context(
    ranges={i: TOKENS, k: TOKENS, a: up_to(d_model), e: up_to(d_v)},
    indicators=frozenset({keep}),
    facts={keep[i, k]: Integer(0), KroneckerDelta(i, k): Integer(0)},
)
NO_LOOK_AHEAD = Block(keep, (PREFIX, SUFFIX), 0)
PREFIX_QUERY = Context(
    ranges={i: PREFIX, k: SUFFIX, e: up_to(d_v)},
    splits={WHOLE: prefix},
    blocks=(NO_LOOK_AHEAD,),
    indicators=frozenset({keep}),
)
LAST_QUERY = Context(
    ranges={i: (L, L), e: up_to(d_v)}, blocks=(Block(keep, ((L, L), TOKENS), 1),), indicators=frozenset({keep})
)
NEWEST = Context(ranges={i: up_to(prefix + 1), e: up_to(d_v)}, splits={up_to(prefix + 1): prefix})
ROW = Context(ranges={j: KEYS}, indicators=frozenset({keep, other_keep}))


score = scaled_score(entry_of(query), entry_of(key), d_k)
queries, keys, values = (projection(entry_of(inputs), entry_of(w), d_model) for w in (w_query, w_key, w_value))
masked_attention = attention(score, entry_of(value), KEYS, entry_of(keep))
self_attention = attention(scaled_score(queries, keys, d_k), values, TOKENS, entry_of(keep))

NO_DEPENDENCE = (
    Step(
        "The output does not depend on a later key",
        Partial(masked_attention(i, e), key[k, a]),
        Integer(0),
        "Every term of the derivative has the factor B_ik, which is 0 when k comes after i.",
        context=KEY_HIDDEN,
    ),
    Step(
        "The output does not depend on a later value",
        Partial(masked_attention(i, e), value[k, f]),
        Integer(0),
        "The derivative is the weight of key k where e = f, and that weight is 0; elsewhere it is 0 anyway.",
        context=KEY_HIDDEN,
    ),
    Step(
        "The output does not depend on a later token, projections included",
        Partial(self_attention(i, e), inputs[k, a]),
        Integer(0),
        "Queries, keys and values are X W_Q, X W_K and X W_V. Token k ≠ i enters through its key and value only.",
        context=TOKEN_HIDDEN,
    ),
    Difference(
        "Without the mask it does depend on later tokens",
        attention(lambda row, m: x[row] * x[m], lambda m, c: x[m], up_to(2))(Integer(1), e),
        attention(lambda row, m: x[row] * x[m], lambda m, c: x[m], up_to(2), entry_of(keep))(Integer(1), e),
        "Two tokens 0 and 1 that are their own query, key and value: the first output is 1/2 without and "
        "0 with the mask.",
        example=World(
            arrays={(x, (1,)): 0, (x, (2,)): 1, (keep, (1, 1)): 1, (keep, (1, 2)): 0},
        ),
        values=("0.5", "0"),
        optional=True,
    ),
)

A, C = array("A"), array("J")
STACK = Context(
    ranges={i: PREFIX, k: SUFFIX},
    splits={WHOLE: prefix},
    blocks=(Block(A, (PREFIX, SUFFIX), 0), Block(C, (PREFIX, SUFFIX), 0)),
)
middle, last = index("l"), index("m")
nearer, farther = (Symbol(name, integer=True, nonnegative=True) for name in ("r", "t"))

PREFIXES = (
    Step(
        "The outputs of a prefix are those of the prefix alone",
        attention(score, entry_of(value), WHOLE, entry_of(keep))(i, e),
        attention(score, entry_of(value), PREFIX, entry_of(keep))(i, e),
        "Split the sums over the keys at P: for a query i ≤ P all later terms have the factor 0.",
        context=PREFIX_QUERY,
    ),
    Step(
        "One more key adds one term to numerator and denominator",
        attention(score, entry_of(value), up_to(prefix + 1))(i, e),
        (
            total(lambda m: exp(score(i, m)) * value[m, e], "j", PREFIX)
            + exp(score(i, prefix + 1)) * value[prefix + 1, e]
        )
        / (total(lambda m: exp(score(i, m)), "j", PREFIX) + exp(score(i, prefix + 1))),
        "This is what decoding with cached keys and values computes.",
        context=NEWEST,
        optional=True,
    ),
    Step(
        "A stack of causal layers is causal",
        total(lambda m: A[i, m] * C[m, k], "l", WHOLE),
        Integer(0),
        "By the chain rule the derivative of a stack is the product of the layers' derivatives A and J. If the query "
        "i is in the prefix and k after it, then for each l in between A_il = 0 (l after the prefix) or J_lk = "
        "0.",
        context=STACK,
    ),
    Inequality(
        "Not being later is transitive",
        last,
        j,
        "m ≥ l and l ≥ j give m ≥ j.",
        certificate=nearer + farther,
        where=(Definition(last, lambda: middle + farther), Definition(middle, lambda: j + nearer)),
        optional=True,
    ),
)

surplus = Symbol("t", integer=True, nonnegative=True)


def margin_top_left(row: Expr, column: Expr) -> Expr:
    """Query i may attend to key j when i − j ≥ 0."""
    return row - column


def margin_bottom_right(row: Expr, column: Expr) -> Expr:
    """Query i may attend to key j when i + S − L − j ≥ 0."""
    return row + S - L - column


MASKS = (
    Step(
        "Causal and padding mask together are the product of their indicators",
        other_keep[j]
        * weights(entry_of(x), KEYS, entry_of(keep))(j)
        / total(lambda m: other_keep[m] * weights(entry_of(x), KEYS, entry_of(keep))(m), "m", KEYS),
        weights(entry_of(x), KEYS, lambda m: keep[m] * other_keep[m])(j),
        "A causal mask followed by one for padding is the mask B C: a key is visible where both show it.",
        context=ROW,
    ),
    Step(
        "Applying a mask twice is applying it once",
        weights(entry_of(x), KEYS, lambda m: keep[m] * keep[m])(j),
        weights(entry_of(x), KEYS, entry_of(keep))(j),
        "B² = B for an indicator.",
        context=ROW,
        optional=True,
    ),
    Step(
        "The two alignments differ by S − L",
        written(lambda: margin_bottom_right(i, j) - margin_top_left(i, j)),
        S - L,
        "Top left: i − j ≥ 0. Bottom right: i + S − L − j ≥ 0. They are the same condition when L = S.",
    ),
    Inequality(
        "More keys than queries: bottom right shows a key that top left hides",
        margin_bottom_right(i, i + 1),
        Integer(0),
        "For S = L + 1 + t the key i + 1 has the margin t ≥ 0 at the bottom right and −1 at the top left.",
        context=Context(parametrisation={S: L + 1 + surplus}),
        certificate=S - L - 1,
        optional=True,
    ),
    Inequality(
        "More queries than keys: bottom right hides a key that top left shows",
        Integer(-1),
        margin_bottom_right(i, i),
        "For L = S + 1 + t the query's own key has the margin −1 − t < 0 at the bottom right and 0 at the top left. "
        "So the alignments coincide if and only if L = S.",
        context=Context(parametrisation={L: S + 1 + surplus}),
        certificate=L - S - 1,
        optional=True,
    ),
    Difference(
        "With L ≠ S the outputs differ",
        attention(lambda row, m: x[m], lambda m, c: v[m], up_to(2), entry_of(keep))(Integer(1), e),
        attention(lambda row, m: x[m], lambda m, c: v[m], up_to(2), entry_of(other_keep))(Integer(1), e),
        "One query, two keys with the logits 0 and 1 and the values 2 and 5: top left (B) returns 2, bottom right (C) "
        "2 + 3e/(1 + e).",
        example=World(
            arrays={
                (x, (1,)): 0,
                (x, (2,)): 1,
                (v, (1,)): 2,
                (v, (2,)): 5,
                (keep, (1, 1)): 1,
                (keep, (1, 2)): 0,
                (other_keep, (1, 1)): 1,
                (other_keep, (1, 2)): 1,
            }
        ),
        values=("2", "4.19318"),
        optional=True,
    ),
)

LAST = (
    Step(
        "The last query sees every key",
        attention(score, entry_of(value), TOKENS, entry_of(keep))(i, e),
        attention(score, entry_of(value), TOKENS)(i, e),
        "No key comes after it, so that each has the factor 1: the mask changes nothing.",
        context=LAST_QUERY,
    ),
)

DERIVATION = Derivation(
    id="causality",
    title="With a causal mask no output depends on a later input",
    opening=(
        "Does a causal mask really keep every later token out of an output, through projections and any number of "
        "layers? Training predicts all next tokens in one pass, and generation keeps old keys and values: both are "
        "right only if it does."
    ),
    see_also=(
        "masking",
        "decoding_cache",
        "permutation",
    ),
    symbols=(
        Meaning((L, S), "how many queries and how many keys there are"),
        Meaning((prefix, suffix), "how many tokens a prefix has, and how many come after it"),
        Meaning((d_model, d_k, d_v), "the widths of a token, of a query or key, and of a value"),
        Meaning((i,), "the number of a query"),
        Meaning((j, k), "numbers of keys or tokens; k comes after i unless a step says otherwise"),
        Meaning((a, e, f), "numbers of components"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((inputs,), "the tokens, one row for each"),
        Meaning((w_query, w_key, w_value), "the matrices that make queries, keys and values of the tokens"),
        Meaning(
            (keep, other_keep),
            "two masks: 1 where the query (first index) may attend to the key (last index), 0 elsewhere",
        ),
        Meaning((x, v), "the logits of one row, or tokens of one component; and values"),
        Meaning((A, C), "the derivatives of two layers: row i has those of output i by all inputs"),
        Meaning((middle, last), "two places: l is not before j, and m is not before l"),
        Meaning(
            (nearer, farther),
            "l − j and m − l, which are at least 0; t is in other steps by how much more than 1 the numbers of "
            "queries and keys differ",
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "B_ij is 1 where query i may attend to key j and 0 elsewhere; causal means B_ij = 0 for j after i.",
        "A query may attend to itself, so that no row is empty.",
        "A layer is differentiable; between attention layers everything acts on each token alone.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.3",
            "We need to prevent leftward information flow in the decoder to preserve the auto-regressive property",
        ),
        Source(
            "Seed document 004, footnote on autoregressive models",
            "must only depend on the tokens preceding it",
            "its mask, rightly, lets a token see itself too",
        ),
        Source("Seed document 001", "mask is lower-triangular", "the visible part is"),
    ),
    steps=NO_DEPENDENCE + PREFIXES + MASKS + LAST,
    remarks=(
        "A stack of any depth is causal by induction: the product of two causal derivatives is causal.",
        "A zero derivative everywhere means independence, since the outputs are differentiable on all of "
        "the input space.",
    ),
)
