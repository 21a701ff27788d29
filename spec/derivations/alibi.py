"""Under softmax −m(i − j) is m j; further properties of ALiBi's bias and its slopes."""

from __future__ import annotations

from sympy import Expr, Integer, Rational, Symbol, exp
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.formulas import array, entry_of, index, positive, size, up_to, weights

L, S, heads = size("L"), size("S"), size("n")
i, j, h, r, shift = index("i"), index("j"), index("h"), index("r"), index("Delta")
slope = positive("m")
x, keep = array("x"), array("B")
KEYS = up_to(S)
MASKED = Context(ranges={j: KEYS}, indicators=frozenset({keep}))
earlier = Symbol("t", integer=True, nonnegative=True)


def bias(query: Expr, key: Expr) -> Expr:
    """−m(i − j)."""
    return -slope * (query - key)


def head_slope(head: Expr, count: Expr = heads) -> Expr:
    """2^(−8(h + 1)/n), heads counted from 0."""
    return Integer(2) ** (-(8 * (head + 1) / count))


SOFTMAX = (
    Step(
        "The bias weighs keys as slope times key position does",
        weights(lambda key: bias(i, key), KEYS, entry_of(keep))(j),
        weights(lambda key: slope * key, KEYS, entry_of(keep))(j),
        "−m (i − j) = −m i + m j, and the factor e^(−m i) cancels in the fraction. The mask may be the causal one.",
        context=MASKED,
    ),
    Step(
        "The same holds where the bias is added to logits",
        weights(lambda key: x[key] + bias(i, key), KEYS, entry_of(keep))(j),
        weights(lambda key: x[key] + slope * key, KEYS, entry_of(keep))(j),
        "Every term of the fraction has the factor e^(−m i), which cancels.",
        context=MASKED,
        optional=True,
    ),
    Step(
        "Counting the query one place later changes no weight",
        weights(lambda key: x[key] + bias(i + 1, key), KEYS, entry_of(keep))(j),
        weights(lambda key: x[key] + bias(i, key), KEYS, entry_of(keep))(j),
        "−m (i + 1 − j) = −m (i − j) − m, and e^(−m) cancels in the fraction. The shift shows only in the bias "
        "itself, or with a sink, which is not shifted.",
        context=MASKED,
        optional=True,
    ),
    Difference(
        "A distance in both directions is another bias",
        exp(0) / (exp(0) + exp(-slope)),
        exp(slope) / (exp(slope) + exp(2 * slope)),
        "The first of two queries without a causal mask: −m|i − j| gives the nearer key the larger weight, mj the "
        "later one. Here m = 2.",
        example=World(symbols={slope: 2}),
        values=("0.8808", "0.1192"),
        optional=True,
    ),
)

DISTANCE = (
    Step(
        "Moving query and key together changes nothing",
        written(lambda: bias(i + shift, j + shift)),
        bias(i, j),
        "The bias is a function of i − j.",
    ),
    Step(
        "The last L of S queries",
        bias(r + S - L, j),
        bias(r, j) - slope * (S - L),
        "Row r of L queries is row r + S − L of S queries. Counting from the first key instead would shift the row, "
        "which a softmax does not see but a comparison of biases does.",
        optional=True,
    ),
    Step(
        "One key nearer is one slope more",
        written(lambda: bias(i, j + 1)),
        written(lambda: bias(i, j) + slope),
        "So the bias rises towards the query, by the same step everywhere, and m > 0.",
    ),
    Inequality(
        "The bias is a penalty",
        Integer(0),
        bias(i, j),
        "At a key t places before the query, i = j + t, the bias is −mt ≤ 0, and 0 at its own position.",
        context=Context(parametrisation={i: j + earlier}),
        certificate=slope * (i - j),
        optional=True,
    ),
)

SLOPES = (
    Step(
        "Eight heads have the slopes 1/2, 1/4, …, 1/256",
        head_slope(h, Integer(8)),
        Rational(1, 2) ** (h + 1),
        "2^(−8(h + 1)/8) = 2^(−(h + 1)), heads counted from 0.",
        optional=True,
    ),
    Step(
        "The slopes form a geometric sequence",
        head_slope(h + 1),
        head_slope(h) * head_slope(Integer(0)),
        "Its ratio 2^(−8/n) is its first element.",
    ),
    Step(
        "Every second slope for twice as many heads is one for as many",
        written(lambda: head_slope(2 * h + 1, 2 * heads)),
        written(lambda: head_slope(h)),
        "2^(−8(2h + 2)/(2n)) = 2^(−8(h + 1)/n).",
        optional=True,
    ),
    Step(
        "The other slopes for twice as many heads lie halfway between two of them",
        written(lambda: head_slope(2 * h + 2, 2 * heads) ** 2),
        written(lambda: head_slope(h) * head_slope(h + 1)),
        "The square of the slope between is the product of its neighbours: these are what head counts that are not "
        "powers of two take in addition.",
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="alibi",
    title="Under softmax a linear bias of the distance is one of the key's position",
    opening=(
        "What does ALiBi's bias, a penalty that grows with the distance of a key, do to the weights? Under softmax "
        "it is the same as a bias that grows with the position of the key alone, so an implementation may use "
        "either form, and its slopes can be checked by simple ratios."
    ),
    see_also=(
        "rotary",
        "masking",
    ),
    symbols=(
        Meaning((L, S), "how many queries and how many keys there are"),
        Meaning((i,), "the position of a query"),
        Meaning((j,), "the position of a key"),
        Meaning((slope,), "the slope of a head, m > 0"),
        Meaning((keep,), "any mask: 1 where the key is visible, 0 elsewhere"),
        Meaning((x,), "the logits of a row"),
        Meaning((shift,), "a shift of both positions"),
        Meaning((r,), "the row of a query among the last L of S"),
        Meaning((earlier,), "how many places the key lies before the query"),
        Meaning((heads,), "how many heads there are"),
        Meaning((h,), "the number of a head, from 0"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("Query i may see key j ≤ i; the slope m > 0 is the same for all keys of a head.",),
    sources=(
        Source(
            "Press, Smith & Lewis 2022, Train Short, Test Long, section 3",
            comment="the bias, and slopes that form a geometric sequence starting at 2^(−8/n)",
        ),
        Source(
            "The code of Press, Smith & Lewis 2022, get_slopes",
            comment="slopes of head counts that are not powers of two",
        ),
    ),
    steps=SOFTMAX + DISTANCE + SLOPES,
    remarks=("The bias is added to the scaled logits: it is not divided by the root of the width.",),
)
