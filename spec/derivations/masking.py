"""Weight zero for masked keys, the equivalence of mask forms, and why masked keys might as well not be there."""

from __future__ import annotations

from sympy import Expr, Integer, KroneckerDelta, exp, log, oo, sqrt
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, Quotient, Range, total
from veriformer.spec.derivations.formulas import (
    array,
    attention,
    entry_of,
    index,
    positive,
    real,
    scaled_score,
    size,
    up_to,
    weights,
)

kept, padding, L, d_k, d_v = size("P"), size("R"), size("L"), size("d_k"), size("d_v")
S = kept + padding
KEYS, KEPT_KEYS, MASKED_KEYS = up_to(S), up_to(kept), (kept + 1, S)
i, j, k, a, e, f = index("i"), index("j"), index("k"), index("a"), index("e"), index("f")
query, key, value = array("Q"), array("K"), array("V")
x, v, bias, other_bias, keep = array("x"), array("v"), array("M"), array("N"), array("B")
row_constant = array("c")
score_i, mask_value, rest, width = real("s"), real("M"), positive("Z"), positive("d_k")
constant = real("c")
first, second, approach, ratio = real("x"), real("y"), positive("t"), positive("rho")

ROW = Context(ranges={j: KEYS, k: KEYS}, indicators=frozenset({keep}))
ROW_MASKED = Context(ranges=ROW.ranges, indicators=ROW.indicators, facts={keep[k]: Integer(0)})
HIDDEN = Context(
    ranges={i: up_to(L), k: KEYS, a: up_to(d_k), e: up_to(d_v), f: up_to(d_v)},
    indicators=frozenset({keep}),
    facts={keep[i, k]: Integer(0)},
)
SUFFIX_MASKED = Context(
    ranges={i: up_to(L), e: up_to(d_v)},
    splits={KEYS: kept},
    blocks=(Block(keep, (None, KEPT_KEYS), 1), Block(keep, (None, MASKED_KEYS), 0)),
    indicators=frozenset({keep}),
)
score = scaled_score(entry_of(query), entry_of(key), d_k)
plain = weights(entry_of(x), KEYS)
masked = weights(entry_of(x), KEYS, entry_of(keep))

WEIGHT_ZERO = (
    Limit(
        "A logit of −∞ gives weight 0",
        exp(score_i + mask_value) / (exp(score_i + mask_value) + rest),
        Integer(0),
        "The weight of the masked key is exactly 0 at M = −∞, not only small.",
        variable=mask_value,
        point=-oo,
        example=World(symbols={score_i: 1, mask_value: -3, rest: 2}),
        value="0.0634",
    ),
    Limit(
        "The other keys share the row among themselves",
        exp(first) / (exp(score_i + mask_value) + rest),
        exp(first) / rest,
        "The masked key disappears from the denominator.",
        variable=mask_value,
        point=-oo,
    ),
    Step(
        "An additive mask multiplies the exponentials",
        weights(lambda m: x[m] + bias[m], KEYS)(j),
        weights(entry_of(x), KEYS, lambda m: exp(bias[m]))(j),
        "e^(x+M) = e^x e^M. With e^0 = 1 and e^(−∞) = 0, the additive mask 0/−∞ is the boolean mask B = e^M.",
        context=ROW,
    ),
    Step(
        "Two masks combine by adding, or by the product of the booleans",
        weights(lambda m: x[m] + bias[m] + other_bias[m], KEYS)(j),
        weights(entry_of(x), KEYS, lambda m: exp(bias[m]) * exp(other_bias[m]))(j),
        "e^(M+N) = e^M e^N: a key is seen when both masks show it.",
        context=ROW,
    ),
    Step(
        "One number added to every visible logit changes no weight",
        weights(lambda m: x[m] + constant, KEYS, entry_of(keep))(j),
        masked(j),
        "e^(x+c) = e^x e^c, and e^c cancels, whichever keys are masked: a mask of 1 and −∞ is one of 0 and −∞. With a "
        "sink, which is not shifted, it does not cancel.",
        context=ROW,
    ),
    Step(
        "A masked key has weight 0",
        masked(k),
        Integer(0),
        "B_k = 0 is a factor of the numerator.",
        context=ROW_MASKED,
    ),
)

SCALING = (
    Step(
        "Masking before or after the scaling",
        (score_i + mask_value) / sqrt(width) - (score_i / sqrt(width) + mask_value),
        mask_value * (1 - sqrt(width)) / sqrt(width),
        "The two logits differ by this amount: it is 0 for M = 0 (and for d_k = 1).",
        optional=True,
    ),
    Limit(
        "With a mask of −∞ both orders give the weight 0",
        exp((score_i + mask_value) / sqrt(width)) / (exp((score_i + mask_value) / sqrt(width)) + rest),
        Integer(0),
        "At M = −∞ the weight is 0 either way. So the order does not matter for masks with the values 0 and −∞.",
        variable=mask_value,
        point=-oo,
        example=World(symbols={score_i: 1, mask_value: -3, rest: 2, width: 4}),
        value="0.1554",
        optional=True,
    ),
    Difference(
        "For a finite mask value the order matters",
        exp(mask_value / sqrt(width)) / (1 + exp(mask_value / sqrt(width))),
        exp(mask_value) / (1 + exp(mask_value)),
        "Take two equal scores and mask one of them. Where the mask comes before the scaling, 22 % of the weight "
        "leaks to the masked key.",
        example=World(symbols={mask_value: -10, width: 64}),
        values=("0.22270", "0.000045398"),
        optional=True,
    ),
)

RENORMALISING = (
    Step(
        "Masking after softmax, then renormalising",
        keep[j] * plain(j) / total(lambda m: keep[m] * plain(m), "m", KEYS),
        masked(j),
        "The common denominator of the unmasked weights cancels.",
        context=ROW,
    ),
    Difference(
        "Masking after softmax without renormalising",
        total(lambda m: keep[m] * plain(m), "j", KEYS),
        Integer(1),
        "Two equal logits of which one is masked: the row sums to 1/2.",
        example=World(
            symbols={kept: 1, padding: 1},
            arrays={(x, (1,)): 0, (x, (2,)): 0, (keep, (1,)): 1, (keep, (2,)): 0},
        ),
        values=("0.5", "1"),
        optional=True,
    ),
    Step(
        "An empty row has no value: the weight depends on the way there",
        approach * exp(first) / (approach * exp(first) + ratio * approach * exp(second)),
        exp(first) / (exp(first) + ratio * exp(second)),
        "Let both masks of a row tend to 0, one as t and the other as ρ t. The weight does not depend on t, but it "
        "does on ρ.",
    ),
    Difference(
        "So no value of an empty row is the limit of masked rows",
        (exp(first) / (exp(first) + ratio * exp(second))).subs(ratio, 1),
        (exp(first) / (exp(first) + ratio * exp(second))).subs(ratio, 2),
        "With the logits 0 and 1, ρ = 1 gives 0.2689 and ρ = 2 gives 0.1554. What an empty row returns is a convention "
        "(literally it is 0/0).",
        example=World(symbols={first: 0, second: 1}),
        values=("0.2689", "0.1554"),
    ),
)

masked_attention = attention(score, entry_of(value), KEYS, entry_of(keep))

INVISIBLE = (
    Step(
        "The content of a masked key does not matter",
        Partial(masked_attention(i, e), key[k, a]),
        Integer(0),
        "Every term of the derivative has the factor B_ik = 0.",
        context=HIDDEN,
    ),
    Step(
        "The content of a masked value does not matter",
        Partial(masked_attention(i, e), value[k, f]),
        Integer(0),
        "The derivative is the weight of the key where e = f, and that weight is 0; elsewhere it is 0 anyway.",
        context=HIDDEN,
    ),
    Step(
        "Removing masked keys changes nothing",
        masked_attention(i, e),
        attention(score, entry_of(value), KEPT_KEYS)(i, e),
        "Split the sums at P: the terms j ≤ P keep their factor 1, those after it have the factor 0. Since attention "
        "does not depend on the order of keys, the masked ones may be taken to come last. So padding changes nothing, "
        "however much there is.",
        context=SUFFIX_MASKED,
    ),
)

doubled_range: Range = (Integer(0), 2 * S - 1)
half_of_pair = Context(ranges={e: up_to(d_v)}, pairings={doubled_range: (S, Integer(2))})


def _with_copy(e_index: Expr) -> Expr:
    """The output when key and value k occur a second time at the end of the list."""
    numerator = total(lambda m: exp(x[m]) * v[m, e_index], "j", KEYS) + exp(x[k]) * v[k, e_index]
    return numerator / (total(lambda m: exp(x[m]), "j", KEYS) + exp(x[k]))


def _every_key_twice(e_index: Expr) -> Expr:
    """The output when the list of keys is 1, 1, 2, 2, …, S, S."""

    def place(m: Expr) -> Expr:
        return Quotient(m, Integer(2)) + 1

    return attention(lambda row, m: x[place(m)], lambda m, c: v[place(m), c], doubled_range)(i, e_index)


def _keys_from_zero(e_index: Expr) -> Expr:
    return attention(lambda row, m: x[m + 1], lambda m, c: v[m + 1, c], (Integer(0), S - 1))(i, e_index)


BIASES = (
    Step(
        "Adding a constant to a whole row of the bias changes nothing",
        attention(lambda row, m: score(row, m) + row_constant[row], entry_of(value), KEYS)(i, e),
        attention(score, entry_of(value), KEYS)(i, e),
        "A constant added to all logits of a row changes no weight, and it may be another one in every row.",
        context=Context(ranges={i: up_to(L), e: up_to(d_v)}),
    ),
    Step(
        "A key that occurs twice has a bias of log 2",
        _with_copy(e),
        attention(lambda row, m: x[m] + log(2) * KroneckerDelta(m, k), entry_of(v), KEYS)(i, e),
        "Two equal terms e^x + e^x are e^(x + log 2).",
        context=Context(ranges={k: KEYS, e: up_to(d_v)}),
    ),
    Step(
        "When every key occurs twice nothing changes",
        _every_key_twice(e),
        _keys_from_zero(e),
        "Every bias is log 2, a constant. (The list 1, 1, 2, 2, … has the key ⌊m/2⌋ + 1 at place m = 0, 1, 2, …)",
        context=half_of_pair,
    ),
)

DERIVATION = Derivation(
    id="masking",
    title="A masked key has weight exactly zero and might as well not be there",
    opening=(
        "What does a mask do to attention, and is a key with weight 0 as good as absent? Padding, causal masks and "
        "windows all rest on the answer: whatever stands at a masked place must not change any output."
    ),
    see_also=(
        "softmax",
        "causality",
        "windows",
        "attention_backward",
        "alibi",
    ),
    symbols=(
        Meaning((kept, padding), "how many keys are kept, and how many are masked"),
        Meaning((L,), "how many queries there are"),
        Meaning((d_k, d_v), "the widths of a key and of a value"),
        Meaning((i,), "the number of a query"),
        Meaning((j, k), "numbers of keys, from 1 to P + R"),
        Meaning((a, e, f), "numbers of components"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((x, second), "x_j is logit j of a row; without an index, x and y are the logits of two keys"),
        Meaning((v,), "the values"),
        Meaning(
            (keep,),
            "the boolean mask: 1 where a key is visible, 0 where it is masked; with two indices the query comes first",
        ),
        Meaning(
            (bias, other_bias),
            "two additive masks, 0 where a key is visible and −∞ where it is masked; M without an index is one entry",
        ),
        Meaning((score_i,), "the logit of one key before its mask is added"),
        Meaning((rest,), "the sum of the exponentials of the other keys, Z > 0"),
        Meaning((approach, ratio), "the values of two masks on the way to 0: one is t, the other ρ t"),
        Meaning((constant,), "a constant added to a row of logits; c_i is that of row i"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "B_ij is 1 where query i may attend to key j and 0 elsewhere; the additive form is M = ln B.",
        "Of the P + R keys the first P are kept and the last R are masked, where a step splits them.",
        "Every row has at least one visible key, unless a step says otherwise.",
        "Masked logits, keys and values are finite: 0 · ∞ and 0 · NaN are outside of these laws.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.3",
            "masking out (setting to −∞) all values in the input of the softmax which correspond to "
            "illegal connections",
        ),
        Source("Seed document 001", "\\frac{QK^T + M}{\\sqrt{d_k}}", "equal to the usual form for 0 and −∞ only"),
        Source(
            "Seed document 000",
            "masks must be added before softmax",
            "or multiplied in after it, and renormalised",
        ),
        Source("Seed document 000", "combine causal and padding masks by addition"),
    ),
    steps=WEIGHT_ZERO + SCALING + RENORMALISING + INVISIBLE + BIASES,
    remarks=(
        "A large finite negative number is not −∞: a row in which every key is masked that way is a "
        "softmax like any other.",
        "Adding two copies of the most negative finite number overflows to −∞, which can empty a row.",
    ),
)
