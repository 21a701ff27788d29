"""Decoding with cached keys and values gives what the full pass gives, for every split of the sequence."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, cos, exp, sin
from veriformer.spec.derivations import layer_norm
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, Range, total
from veriformer.spec.derivations.formulas import (
    Entries,
    array,
    attention,
    entry_of,
    index,
    real,
    size,
    up_to,
)

cached, new, newer, d_model, d_k, d_v, hidden = (
    size(name) for name in ("P", "R", "T", "d_model", "d_k", "d_v", "d_ff")
)
i, j, k, b, c, e = (index(name) for name in "ijkbce")
row = index("r")
inputs, keep, x, v = array("X"), array("B"), array("x"), array("v")
logit, value = array("S"), array("V")
w_key, w_output, w_1, w_2 = array("W_K"), array("W_O"), array("W_1"), array("W_2")
position, key_position, length = real("r"), real("j"), real("P")
CACHED, NEW, WHOLE = up_to(cached), (cached + 1, cached + new), up_to(cached + new)
LONGER, NEWER = up_to(cached + new + newer), (cached + new + 1, cached + new + newer)
ROW, COLUMN = up_to(d_model), up_to(d_v)

NOT_AHEAD = Block(keep, (CACHED, NEW), 0)
OWN_ROW = Context(ranges={j: WHOLE, k: WHOLE, b: ROW, c: ROW, e: up_to(d_k)})
OTHER_ROW = Context(ranges=OWN_ROW.ranges, facts={KroneckerDelta(j, k): Integer(0)})
OLD_ROW = Context(ranges={i: CACHED, c: ROW}, splits={WHOLE: cached}, blocks=(NOT_AHEAD,))
NEW_ROW = Context(ranges={i: NEW, e: COLUMN}, splits={WHOLE: cached})


def projected(weight: IndexedBase) -> Entries:
    """(i, e) ↦ Σ_b X[i, b] W[b, e]."""
    return lambda token, column: total(lambda m: inputs[token, m] * weight[m, column], "b", ROW)


score, values = entry_of(logit), entry_of(value)


def attended(keys: Range) -> Entries:
    """Attention of the tokens to those of a range."""
    return attention(score, values, keys, entry_of(keep))


def after_attention(keys: Range) -> Entries:
    """h[i, c] = X[i, c] + Σ_e attention[i, e] W_O[e, c]."""
    return lambda token, column: (
        inputs[token, column] + total(lambda m: attended(keys)(token, m) * w_output[m, column], "e", COLUMN)
    )


def after_network(read: Entries) -> Entries:
    """h[i, c] + Σ_f sin(Σ_b h[i, b] W_1[b, f]) W_2[f, c]: a network on each token alone."""

    def unit(token: Expr, place: Expr) -> Expr:
        return sin(total(lambda m: read(token, m) * w_1[m, place], "b", ROW))

    return lambda token, column: (
        read(token, column) + total(lambda f: unit(token, f) * w_2[f, column], "f", up_to(hidden))
    )


def norm_of(read: Entries) -> Entries:
    """LN of each token alone."""

    def normalised(token: Expr, column: Expr) -> Expr:
        expression = layer_norm.normalised(lambda m: read(token, m), column)
        return expression.xreplace({layer_norm.d: d_model})

    return normalised


POSITION_WISE = (
    Step(
        "A key depends on its own token only",
        Partial(projected(w_key)(j, e), inputs[k, b]),
        KroneckerDelta(j, k) * w_key[b, e],
        "Row j of the keys is row j of X times W_K: rows do not mix. So appending tokens changes no key that is "
        "there, and no value.",
        context=OWN_ROW,
    ),
    Step(
        "A network with its residual connection depends on its own token only",
        Partial(after_network(entry_of(inputs))(j, c), inputs[k, b]),
        Integer(0),
        "For tokens j ≠ k. The network acts on each token alone.",
        context=OTHER_ROW,
    ),
    Step(
        "A norm depends on its own token only",
        Partial(norm_of(entry_of(inputs))(j, c), inputs[k, b]),
        Integer(0),
        "For tokens j ≠ k. So attention is the only part of a layer in which tokens meet.",
        context=OTHER_ROW,
    ),
)

UNCHANGED = (
    Step(
        "Appending tokens changes no earlier output of a causal layer",
        after_attention(WHOLE)(i, c),
        after_attention(CACHED)(i, c),
        "For a token i ≤ P all terms of later keys have the factor B = 0: the right-hand side is the same layer on the "
        "first P tokens. What follows attention acts on each token alone. By induction this holds after every layer of "
        "a stack: its first P inputs stay, and so do their keys and values, which may be kept.",
        context=OLD_ROW,
    ),
    Difference(
        "Without a causal mask appending tokens changes an earlier output",
        attention(lambda m, n: x[m] * x[n], lambda m, n: x[m], up_to(1))(Integer(1), c),
        attention(lambda m, n: x[m] * x[n], lambda m, n: x[m], up_to(2))(Integer(1), c),
        "Tokens 0 and 1 that are their own query, key and value: the first output is 0 without and 1/2 with the second "
        "token. What the next layer would have kept of it is stale.",
        example=World(arrays={(x, (1,)): 0, (x, (2,)): 1}),
        values=("0", "0.5"),
        optional=True,
    ),
)


def sums(keys: Range, factor: Callable[[Expr], Expr]) -> Expr:
    """Σ_j B[i, j] e^(S[i, j]) factor(j) over a range of keys."""
    return total(lambda m: keep[i, m] * exp(score(i, m)) * factor(m), "j", keys)


def from_parts(*parts: Range) -> Expr:
    """Attention of token i, its numerator and denominator added up over parts of the keys."""
    numerator = sum((sums(part, lambda m: values(m, e)) for part in parts), Integer(0))
    return numerator / sum((sums(part, lambda m: Integer(1)) for part in parts), Integer(0))


newest = cached + 1
ONE_NEW = up_to(newest)

STEPS = (
    Step(
        "A new token's output in the full pass is attention to cached and new keys",
        attended(WHOLE)(i, e),
        from_parts(CACHED, NEW),
        "Split the sums at P. Only the new tokens are projected: the terms j ≤ P use what was kept.",
        context=NEW_ROW,
    ),
    Step(
        "Two steps are one",
        from_parts(CACHED, NEW, NEWER),
        attended(LONGER)(i, e),
        "First R tokens, then T more: the token i of the second step sees what the full pass sees. Hence every split "
        "into prompt and steps gives the same.",
        context=Context(ranges={i: NEWER, e: COLUMN}, splits={LONGER: cached + new, up_to(cached + new): cached}),
    ),
    Step(
        "A single new token needs no mask",
        attended(ONE_NEW)(i, e),
        attention(score, values, ONE_NEW)(i, e),
        "The new token is the last one: every key is at its position or before.",
        context=Context(
            ranges={i: (newest, newest), e: COLUMN},
            blocks=(Block(keep, ((newest, newest), None), 1),),
            indicators=frozenset({keep}),
        ),
    ),
    Step(
        "Keys that no new token may see need not be kept",
        attended(WHOLE)(i, e),
        attention(score, values, NEW, entry_of(keep))(i, e),
        "A window, or padding: B_ij = 0 for all of a part of the cache. It drops out of both sums.",
        context=Context(ranges={i: NEW, e: COLUMN}, splits={WHOLE: cached}, blocks=(Block(keep, (NEW, CACHED), 0),)),
    ),
)


def full_margin(token: Expr, column: Expr) -> Expr:
    """Token i of the full pass may attend to key j when i − j ≥ 0."""
    return token - column


def bottom_right_margin(token: Expr, column: Expr, queries: Expr, keys: Expr) -> Expr:
    """Row r of a mask of the given size shows key j when r + S − L − j ≥ 0."""
    return token + keys - queries - column


PLACES = (
    Step(
        "The mask of a step is the bottom right one",
        written(lambda: bottom_right_margin(row, j, new, cached + new)),
        written(lambda: full_margin(cached + row, j)),
        "Row r of the step is token P + r. In the step R queries meet P + R keys, so the bottom right mask lets row r "
        "see the keys up to r + P.",
    ),
    Step(
        "The top left mask is short of P keys",
        written(lambda: full_margin(cached + row, j) - full_margin(row, j)),
        cached,
        "Row r would see r keys instead of P + r: most of the cache is hidden as soon as P > 0.",
        optional=True,
    ),
    Difference(
        "Positions that start again in each step are wrong",
        cos(length + position - key_position),
        cos(position - key_position),
        "Rotated keys may be kept if new tokens stand at P + r: the inner product depends on the distance. Take the "
        "query and the key (1, 0) at the frequency 1, the key at position 1, and the second query of a step after P = "
        "3 cached tokens. The inner product is cos 4 at the query's position P + 2 = 5, and cos 1 at position 2.",
        example=World(symbols={length: 3, position: 2, key_position: 1}),
        values=("-0.65364", "0.54030"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="decoding_cache",
    title="Decoding with a cache gives what the full pass gives",
    opening=(
        "Does generating text token by token with cached keys and values give what one pass over the whole text "
        "gives? It does for causal models if masks and positions continue where the cache ends, and the usual "
        "mistakes are those that restart them."
    ),
    see_also=(
        "causality",
        "cost",
    ),
    symbols=(
        Meaning(
            (cached, new, newer), "how many tokens are in the cache, how many are new, and how many come after them"
        ),
        Meaning((d_model, d_k, d_v), "the widths of a token, of a key, and of a value"),
        Meaning((hidden,), "how many hidden units the network has"),
        Meaning((i, j, k), "numbers of tokens"),
        Meaning((b, c, e), "numbers of components"),
        Meaning((row,), "the row of a new token within its step, from 1"),
        Meaning((inputs,), "the tokens, one row for each"),
        Meaning((keep,), "the mask: 1 where token i may attend to token j, 0 elsewhere"),
        Meaning((logit,), "the logits: S_ij is that of query i and key j"),
        Meaning((value,), "the values, one row for each"),
        Meaning((w_key, w_output, w_1, w_2), "the matrices of keys, of the output, and of the network"),
        Meaning((x,), "tokens of one component"),
        Meaning((layer_norm.epsilon,), "the small number under the root of the norm"),
    ),
    scope=Scope.INDUCTION,
    assumptions=(
        "Token i attends to no token after it: B_ij = 0 for j > i.",
        "The logit S_ij reads token i and token j only, and the value V_j token j only.",
        "One head is shown: heads do not see each other, and their sum is a map of each token alone.",
        "The network is one with a hidden layer; other maps of each token alone would do as well.",
    ),
    sources=(
        Source(
            "Shazeer 2019, Fast Transformer Decoding: One Write-Head is All You Need, section 2.4.1",
            comment="incremental attention: keys and values of earlier positions are kept",
        ),
        Source(
            "Pope et al. 2022, Efficiently Scaling Transformer Inference, section 2",
            comment="prefill and generation",
        ),
        Source(
            "Seed document 000",
            "reduces per-step cost from O(t²) to roughly O(t)",
            "the derivation `cost` counts it; here: the result is the same",
        ),
    ),
    steps=POSITION_WISE + UNCHANGED + STEPS + PLACES,
    remarks=(
        "A post-norm layer differs in where the norm stands only, and the norm acts on each token alone.",
        "Cross-attention reads keys and values of the encoder's output, which no step changes.",
        "The results are equal in exact arithmetic; sums in other groupings round differently.",
    ),
)
