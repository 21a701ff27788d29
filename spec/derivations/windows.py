"""A sliding window is a mask: it combines with others by the product, and the narrowest one returns the values."""

from __future__ import annotations

from sympy import Integer, KroneckerDelta
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import array, attention, entry_of, index, scaled_score, size, up_to, weights

S, d_k, d_v, left, right = size("S"), size("d_k"), size("d_v"), size("l"), size("r")
KEYS = up_to(S)
i, j, e = index("i"), index("j"), index("e")
query, key, value, x = array("Q"), array("K"), array("V"), array("x")
band, keep, causal = array("W"), array("B"), array("C")
RANGES = {i: KEYS, j: KEYS, e: up_to(d_v)}
MASKS = Context(ranges=RANGES, indicators=frozenset({band, keep, causal}))
WIDE = Context(ranges=RANGES, indicators=MASKS.indicators, blocks=(Block(band, (None, KEYS), 1),))
score = scaled_score(entry_of(query), entry_of(key), d_k)

COUNTING = (
    Step(
        "Inclusive counting shows l + r + 1 keys",
        total(lambda m: Integer(1), "j", (i - left, i + right)),
        left + right + 1,
        "The keys i − l, …, i + r, where none of them falls off an end of the sequence.",
        context=Context(ranges={i: KEYS}),
        optional=True,
    ),
    Step(
        "Exclusive counting shows one key less",
        total(lambda m: Integer(1), "j", (i - left + 1, i + right)),
        left + right,
        "Here the query's own key is one of the l keys.",
        context=Context(ranges={i: KEYS}),
        optional=True,
    ),
    Difference(
        "So the two counts differ",
        total(lambda m: x[m], "j", (i - left, i)),
        total(lambda m: x[m], "j", (i - left + 1, i)),
        "A query at 2 with l = 1 sees keys 1 and 2, or key 2 alone.",
        example=World(symbols={i: 2, left: 1}, arrays={(x, (1,)): 1, (x, (2,)): 1}),
        values=("2", "1"),
        optional=True,
    ),
)

COMBINING = (
    Step(
        "Windowed weights are masked weights, renormalised",
        band[i, j]
        * weights(entry_of(x), KEYS, lambda m: keep[i, m])(j)
        / total(lambda m: band[i, m] * weights(entry_of(x), KEYS, lambda n: keep[i, n])(m), "j", KEYS),
        weights(entry_of(x), KEYS, lambda m: band[i, m] * keep[i, m])(j),
        "The common denominator of the masked weights cancels: window and mask together are the mask W · B.",
        context=MASKS,
    ),
    Step(
        "Window and mask apply in either order",
        attention(score, entry_of(value), KEYS, lambda row, m: band[row, m] * keep[row, m])(i, e)
        - attention(score, entry_of(value), KEYS, lambda row, m: keep[row, m] * band[row, m] ** 2)(i, e),
        Integer(0),
        "W · B = B · W, and W² = W for entries 0 and 1: applying the window twice is applying it once.",
        context=MASKS,
    ),
    Step(
        "The causal flag changes nothing where the window is (∞, 0)",
        attention(score, entry_of(value), KEYS, lambda row, m: causal[row, m] * causal[row, m])(i, e),
        attention(score, entry_of(value), KEYS, entry_of(causal))(i, e),
        "Both are C_ij = 1 for j ≤ i, and C · C = C.",
        context=MASKS,
    ),
)

EXTREMES = (
    Step(
        "A window that holds every key changes nothing",
        attention(score, entry_of(value), KEYS, entry_of(band))(i, e),
        attention(score, entry_of(value), KEYS)(i, e),
        "W_ij = 1 for all j.",
        context=WIDE,
    ),
    Step(
        "The narrowest window returns the query's own value",
        attention(score, entry_of(value), KEYS, KroneckerDelta)(i, e),
        value[i, e],
        "W_ij = δ(i, j): one weight, which is 1, whatever the scores.",
        context=MASKS,
    ),
)

DERIVATION = Derivation(
    id="windows",
    title="A sliding window is a mask, and the narrowest one returns the values",
    opening=(
        "What does a sliding window do to attention, and how does it combine with other masks? It is a mask like "
        "any other, so every law of masks holds for it, and the libraries differ only in how they count its keys."
    ),
    see_also=(
        "masking",
        "sinks",
    ),
    symbols=(
        Meaning((S,), "how many keys there are, and how many queries"),
        Meaning((left, right), "how many keys before and after its own a window shows"),
        Meaning((i,), "the number of a query"),
        Meaning((j,), "the number of a key"),
        Meaning((e,), "the number of a component"),
        Meaning((d_k, d_v), "the widths of a query or key, and of a value"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((x,), "the logits of a row, or numbers that are summed"),
        Meaning(
            (band, keep, causal),
            "three masks, 1 where query i may attend to key j and 0 elsewhere: the window, any other mask, and the "
            "causal one",
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "W_ij is 1 where key j lies in the window of query i and 0 elsewhere.",
        "Every row has at least one visible key.",
    ),
    sources=(
        Source("Beltagy et al. 2020, Longformer, section 3.1", comment="a window of w keys, w/2 on each side"),
        Source("Jiang et al. 2023, Mistral 7B, section 2", comment="w keys, the query's own among them"),
    ),
    steps=COUNTING + COMBINING + EXTREMES,
    remarks=("What stands beyond the window has no influence: see the derivation of masking, with B = W.",),
)
