"""The effect of rounding errors of logits, weights and sums on an attention output, and where it is almost none."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, exp, oo
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import (
    Derivation,
    Difference,
    Inequality,
    Limit,
    Meaning,
    Scope,
    Source,
    Step,
)
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import array, index, positive, real, size, up_to, weights

S, D = size("S"), size("D")
KEYS, WIDTH = up_to(S), up_to(D)
j, k = index("j"), index("i")
logit, value, disturbance = array("z"), array("v"), array("eta")
distance, depth = real("epsilon"), positive("d")
share, scale_error, logarithm, normaliser_error = real("delta"), real("delta"), real("lambda"), real("sigma")
below = IndexedBase("s", nonnegative=True)
bound = IndexedBase("epsilon", nonnegative=True)
upward, downward = IndexedBase("a", nonnegative=True), IndexedBase("b", nonnegative=True)
to_upper, to_lower = IndexedBase("c", nonnegative=True), IndexedBase("f", nonnegative=True)
slack, size_of_error = positive("s"), positive("epsilon")
query, key, root = array("q"), array("k"), positive("r")
content, farthest, rise, exponent = positive("v"), real("m"), positive("h"), real("z")
CONTEXT = Context(ranges={j: KEYS, k: KEYS})

weight = weights(lambda m: logit[m], KEYS)
wrong_weight = weights(lambda m: logit[m] + disturbance[m], KEYS)


def averaged(amount: Expr) -> Expr:
    """Σ_j p_j amount_j."""
    return total(lambda m: weight(m) * amount(m), "j", KEYS)


def rounded_before(m: Expr) -> Expr:
    """The weight of a key where each exponential is rounded before the division."""
    return weight(m) * (1 + disturbance[m]) / averaged(lambda q: 1 + disturbance[q])


output = averaged(lambda m: value[m])
wrong_output = total(lambda m: wrong_weight(m) * value[m], "j", KEYS)

right, wrong, P = real("o"), real("o'"), array("p")

LOGITS = (
    Step(
        "Wrong logits move the output by the distances of the values from it",
        wrong - right,
        total(lambda m: P[m] * (exp(disturbance[m]) - 1) * (value[m] - right), "j", KEYS)
        / total(lambda m: P[m] * exp(disturbance[m]), "j", KEYS),
        "A logit that is wrong by η_j changes its exponential by the factor e^(η_j). With the exact weights p_j the "
        "output becomes Σ p e^η v / Σ p e^η, and Σ p (v − o) = 0.",
        context=CONTEXT,
        where=(
            Definition(right, lambda: output),
            Definition(wrong, lambda: wrong_output),
            Definition(P, weight, (j,)),
        ),
    ),
    Step(
        "A common error of all logits moves nothing",
        total(lambda m: weights(lambda q: logit[q] + share, KEYS)(m) * value[m], "j", KEYS),
        output,
        "It cancels: only differences of errors count.",
        context=CONTEXT,
    ),
    Inequality(
        "A factor e^η with η ≤ ε exceeds 1 by e^ε − 1 at most",
        exp(size_of_error) - 1,
        exp(size_of_error - slack) - 1,
        "η = ε − s with s ≥ 0.",
        certificate=exp(size_of_error) * (1 - exp(-slack)),
    ),
    Inequality(
        "A factor e^η with η ≥ −ε falls short of 1 by e^ε − 1 at most",
        exp(size_of_error) - 1,
        1 - exp(-size_of_error),
        "The least factor is e^(−ε), and e^ε + e^(−ε) − 2 is a square. So |e^η − 1| ≤ e^ε − 1 for |η| ≤ ε.",
        certificate=(exp(size_of_error / 2) - exp(-size_of_error / 2)) ** 2,
    ),
    Inequality(
        "The normaliser keeps Σ p e^(−ε) at least",
        averaged(lambda m: exp(below[m] - bound[m])),
        averaged(lambda m: exp(-bound[m])),
        "η_j = s_j − ε_j with s_j ≥ 0, term by term.",
        context=CONTEXT,
        certificate=averaged(lambda m: exp(below[m] - bound[m]) * (1 - exp(-below[m]))),
    ),
    Inequality(
        "The triangle inequality: each distance with the bound of its factor",
        averaged(lambda m: (to_upper[m] + to_lower[m]) / 2 * (upward[m] + downward[m])),
        averaged(lambda m: (to_lower[m] - to_upper[m]) / 2 * (upward[m] - downward[m])),
        "v_j − o = a_j − b_j with |v_j − o| = a_j + b_j; w_j = e^(η_j) − 1 lies between −g_j and g_j = e^(ε_j) − 1, "
        "with c_j = g_j − w_j ≥ 0 and f_j = g_j + w_j ≥ 0. Together: |ô − o| ≤ Σ p (e^ε − 1)|v − o| / Σ p e^(−ε).",
        context=CONTEXT,
        certificate=averaged(lambda m: upward[m] * to_upper[m] + downward[m] * to_lower[m]),
    ),
    Inequality(
        "However wrong the logits are, the output moves no further than to the farthest value",
        farthest,
        total(lambda m: wrong_weight(m) * (farthest - below[m]), "j", KEYS),
        "The wrong weights sum to one as well: with v_j − o = m − s_j ≤ m also ô − o ≤ m; below o likewise.",
        context=CONTEXT,
        certificate=total(lambda m: wrong_weight(m) * below[m], "j", KEYS),
    ),
)

ROOTS = (
    Step(
        "A scale applied as two roots, whose rounding counts twice",
        total(lambda m: root * (1 + share) * query[m] * root * (1 + share) * key[m], "j", WIDTH),
        root**2 * (1 + share) ** 2 * total(lambda m: query[m] * key[m], "j", WIDTH),
        "√s is rounded to √s (1 + δ), the same for queries and keys: s q·k (1 + δ)², an error of 2u |s q·k|, where a "
        "scale that is applied once is rounded to s (1 + δ).",
        context=Context(ranges={j: WIDTH}),
    ),
    Step(
        "What storing the scaled queries and keys adds",
        total(lambda m: (query[m] + disturbance[m]) * (key[m] + below[m]), "j", WIDTH)
        - total(lambda m: query[m] * key[m], "j", WIDTH),
        total(lambda m: disturbance[m] * key[m] + query[m] * below[m] + disturbance[m] * below[m], "j", WIDTH),
        "√s q and √s k are stored with errors of u each, relative to an entry: 2u A, A = s |q|·|k|. With the stored "
        "product that is 2u A + 3u |s q·k|, and a bias adds u |z| for the logit that is stored after it.",
        context=Context(ranges={j: WIDTH}),
    ),
)

WEIGHTS = (
    Step(
        "A weight changes by its factor over the average factor",
        wrong_weight(k) * averaged(lambda m: exp(disturbance[m])),
        weight(k) * exp(disturbance[k]),
        "So p̂ ≤ p e^ε / Σ p e^(−ε).",
        context=CONTEXT,
    ),
    Step(
        "Rounded weights move the output by the values themselves",
        total(lambda m: weight(m) * (1 + disturbance[m]) * value[m], "j", KEYS) - output,
        averaged(lambda m: disturbance[m] * value[m]),
        "Weights rounded after the division no longer sum to one. By the triangle inequality it moves the output by "
        "u Σ p |v| at most; a sum's terms by γ(S) Σ p |v| likewise.",
        context=CONTEXT,
    ),
    Step(
        "Exponentials rounded before they are summed move it by distances again",
        (total(lambda m: rounded_before(m) * value[m], "j", KEYS) - output) * averaged(lambda m: 1 + disturbance[m]),
        averaged(lambda m: disturbance[m] * (value[m] - output)),
        "Rounded to e (1 + δ) both for the product with the values and for their sum, they still sum to one: at most "
        "u Σ p |v − o| / (1 − u). A fused kernel may do either, and may be wrong by the larger of the two.",
        context=CONTEXT,
    ),
    Step(
        "Weights that underflow move it by what is lost times the values",
        total(lambda m: (weight(m) + disturbance[m]) * value[m], "j", KEYS) - output,
        total(lambda m: disturbance[m] * value[m], "j", KEYS),
        "Each weight is off by the smallest number of the format at most, or by the smallest normal one where hardware "
        "flushes: tiny Σ |v|.",
        context=CONTEXT,
    ),
    Step(
        "A wrong normaliser moves it in proportion to itself",
        output * (1 + normaliser_error) - output,
        normaliser_error * output,
        "σ is γ(S) for the sum and u for the quotient; the result, rounded once more, adds u |o|.",
        context=CONTEXT,
    ),
    Step(
        "A normaliser that is kept as its logarithm",
        exp(exponent - logarithm * (1 + share)),
        exp(exponent - logarithm) * exp(-logarithm * share),
        "λ = log Σ e^z, rounded to λ (1 + δ), multiplies all weights of a row by e^(−λδ). Added up block by block, it "
        "is rounded once for each block, and each time lies between the smallest logit and λ.",
    ),
)

FAINT = (
    Step(
        "A share δ of the scale changes a ratio of weights by δ times the distance of their logits",
        weights(lambda m: logit[m] * (1 + scale_error), KEYS)(k)
        / weights(lambda m: logit[m] * (1 + scale_error), KEYS)(j),
        exp(logit[k] - logit[j]) * exp(scale_error * (logit[k] - logit[j])),
        "The further below the largest, the more a wrong scale changes a weight, relative to itself.",
        context=CONTEXT,
    ),
    Step(
        "The output where only one key has a value, and it lies d below the other",
        Partial(content / (1 + exp(depth * (1 + scale_error))), scale_error),
        -depth * content * exp(depth * (1 + scale_error)) / (1 + exp(depth * (1 + scale_error))) ** 2,
        "o = v e^(−d(1 + δ)) / (1 + e^(−d(1 + δ))), and ∂o/∂δ = −d o (1 − o/v).",
    ),
    Limit(
        "The relative change of a faint output: d",
        depth / (1 + exp(-depth)) / depth,
        Integer(1),
        "At δ = 0 it is d (1 − o/v) = d/(1 + e^(−d)). Rounding changes a faint output by a few roundoffs and by ε, "
        "relative to itself; a wrong scale changes it by δ d. So the deepest key shows the smallest mistake.",
        variable=depth,
        point=oo,
        example=World(symbols={depth: 2}),
        value="0.8808",
    ),
    Inequality(
        "Rounding changes that output in proportion to it",
        exp(2 * size_of_error) * (exp(rise - size_of_error) + exp(size_of_error - slack - depth)),
        exp(size_of_error - slack) * (1 + exp(-depth)),
        "The near logit is wrong by −ε + h, the far one by ε − s, with h, s ≥ 0. Cross-multiplied: o′ ≤ e^(2ε) o for "
        "o = v e^(−d) / (1 + e^(−d)) and o′ = v e^(ε − s − d) / (e^(h − ε) + e^(ε − s − d)). No term of the large "
        "weight is left, for its value is zero.",
        certificate=exp(size_of_error + rise) * (1 - exp(-rise - slack))
        + exp(3 * size_of_error - depth - slack) * (1 - exp(-2 * size_of_error)),
    ),
    Difference(
        "The bound by |v| instead of |v − o| would be far larger",
        averaged(lambda m: (exp(disturbance[m]) - 1) * value[m]),
        averaged(lambda m: (exp(disturbance[m]) - 1) * (value[m] - output)),
        "Two keys with the logits 0 and 1, the values 2 and 5, and logits that are wrong by 1 and 2: 24.27811 and "
        "2.75499.",
        example=World(
            symbols={S: 2},
            arrays={
                (logit, (1,)): 0,
                (value, (1,)): 2,
                (disturbance, (1,)): 1,
                (logit, (2,)): 1,
                (value, (2,)): 5,
                (disturbance, (2,)): 2,
            },
        ),
        values=("24.27811", "2.75499"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="attention_rounding",
    title="Rounding moves an attention output by its logits' errors times distances from it",
    opening=(
        "How far may rounding move an output of attention, when logits, weights and sums are all rounded? Errors of "
        "logits move it only by distances between values, so the bound is far smaller than the size of the values "
        "suggests, and small mistakes stay visible."
    ),
    see_also=(
        "convex_hull",
        "rounding_of_sums",
    ),
    symbols=(
        Meaning((S, D), "how many keys there are, and how many components a query has"),
        Meaning((j, k), "numbers of keys"),
        Meaning(
            (logit, value),
            "the logits of a row and one component of each value; v without an index is that of the far key",
        ),
        Meaning((P,), "the exact weights"),
        Meaning((right, wrong), "the exact output and the one with errors"),
        Meaning(
            (disturbance,),
            "the error of each logit or exponential; in a step on storage, that of each component of the query",
        ),
        Meaning((bound,), "ε_j bounds the error of logit j; ε bounds all of them"),
        Meaning((depth,), "how far one logit lies below another"),
        Meaning((share,), "a relative error, or a number that is added to every logit"),
        Meaning((logarithm,), "the logarithm of the sum of the exponentials"),
        Meaning((normaliser_error,), "the relative error of the divisor"),
        Meaning(
            (below,),
            "by how much something lies within its bound; in the step on storage s_j is the error of a component of "
            "the key",
        ),
        Meaning((rise,), "by how much the error of the near logit lies within its bound"),
        Meaning((upward, downward), "the positive and the negative part of v_j − o"),
        Meaning((to_upper, to_lower), "two distances from the bounds of a factor, both at least 0"),
        Meaning((query, key), "the components of a query and of a key"),
        Meaning((root,), "the square root of the scale"),
        Meaning((farthest,), "the largest difference v_j − o"),
        Meaning(
            (real("u"), real("gamma")),
            "the unit roundoff, and the bound γ of a sum, which rounding_of_sums derives",
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Each logit is wrong by |η_j| ≤ ε_j at most: products, scale, bias, the subtraction of the maximum, and the "
        "relative error of the exponential, see rounding_of_sums.",
        "Steps are about one component of the output of one query; every row has at least one visible key.",
    ),
    sources=(
        Source("Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1", comment="sums and products"),
        Source(
            "Blanchard, Higham & Higham 2021, Accurately computing the log-sum-exp and softmax functions",
            comment="relative errors of softmax; those of averages of values are derived here",
        ),
    ),
    steps=LOGITS + ROOTS + WEIGHTS + FAINT,
    remarks=(
        "`conformance_tests/operations/attention/bounds.py` computes this bound, with p + gain for p̂ where later "
        "roundings are those of the wrong weights.",
        "Eager code stores logits, exponentials, their sum, weights and result in the dtype, and u is the dtype's "
        "throughout. Fused kernels (the convention `numerics`) store weights and result only: in every other term u is "
        "that of float32.",
        "Equal values are not disturbed by wrong weights: every distance is zero, and what is left is storage.",
    ),
)
