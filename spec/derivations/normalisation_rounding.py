"""The effect of rounding on normalised vectors: the variance needs two passes, and RMS norm errs by a share only."""

from __future__ import annotations

from sympy import Expr, IndexedBase, sqrt
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import array, index, positive, real, size, up_to

n = size("n")
ENTRIES = up_to(n)
i = index("i")
entry, relative = array("x"), array("theta")
mean_error = real("e")
variance, eps, share = positive("v"), positive("epsilon"), positive("rho")
root_share, product_share = real("delta"), real("eta")
to_upper, to_lower = IndexedBase("s", nonnegative=True), IndexedBase("t", nonnegative=True)
CONTEXT = Context(ranges={i: ENTRIES})

mean = total(lambda m: entry[m], "j", ENTRIES) / n
square = real("q")
mean_square = total(lambda m: entry[m] ** 2, "j", ENTRIES) / n
exact_variance = total(lambda m: (entry[m] - mean) ** 2, "j", ENTRIES) / n


def squares(weight: Expr) -> Expr:
    """Σ weight_j (x_j − μ)² / n."""
    return total(lambda m: weight(m) * (entry[m] - mean) ** 2, "j", ENTRIES) / n


VARIANCE = (
    Step(
        "Two passes: a wrong mean counts with its square",
        total(lambda m: (entry[m] - mean - mean_error) ** 2, "j", ENTRIES) / n,
        exact_variance + mean_error**2,
        "The entries are centred about μ + e. The mixed term 2e Σ (x_j − μ)/n is zero, because deviations sum to zero.",
    ),
    Step(
        "Their rounded squares are wrong by a share of the variance",
        squares(lambda m: 1 + relative[m]) - exact_variance,
        squares(lambda m: relative[m]),
        "1 + θ_j are the factors of the square, of the sum, and of the rounded difference twice, see rounding_of_sums.",
    ),
    Inequality(
        "The error is at most the bound of the factors times the variance",
        squares(lambda m: (to_upper[m] + to_lower[m]) / 2),
        squares(lambda m: (to_lower[m] - to_upper[m]) / 2),
        "|θ_j| ≤ g_j, with s_j = g_j − θ_j ≥ 0 and t_j = g_j + θ_j ≥ 0. With g_j = γ(n) + 5u for all j: "
        "|δvar| ≤ (γ(n) + 5u) var + e².",
        certificate=squares(lambda m: to_upper[m]),
    ),
    Step(
        "One pass: the squares that are summed include the mean's",
        mean_square,
        exact_variance + mean**2,
        "mean(x²) − μ² is the variance, but its rounding errors are shares of mean(x²) = var + μ².",
    ),
    Difference(
        "One pass is not within the bound of two",
        mean_square * (1 + share) - mean**2,
        exact_variance * (1 + share),
        "Vectors far from zero: (3, 5) has variance 1 and mean square 17, of which a share is 17 times as much.",
        example=World(symbols={n: 2, share: 1}, arrays={(entry, (1,)): 3, (entry, (2,)): 5}),
        values=("18", "2"),
    ),
)

ROOTS = (
    Inequality(
        "Where eps is added, a wrong variance counts for less",
        (variance + eps) * (1 + share),
        variance * (1 + share) + eps,
        "An error of the variance by the share ρ is one of var + eps by less than ρ.",
        certificate=eps * share,
    ),
)

RELATIVE = (
    Step(
        "RMS norm: a share of the mean square is a share of every entry",
        written(lambda: entry[i] / sqrt(square * (1 + share))),
        written(lambda: entry[i] / sqrt(square) / sqrt(1 + share)),
        "Nothing is subtracted, so that nothing cancels: with ρ = γ(n) + 5u the share is 1/√(1 − ρ) − 1 at most.",
        context=CONTEXT,
        where=(Definition(square, lambda: mean_square),),
    ),
    Step(
        "The operations after it multiply one by one",
        entry[i] * (1 + root_share) * (1 + product_share) - entry[i],
        entry[i] * (root_share + product_share + root_share * product_share),
        "The root, its reciprocal, the product with x, the gain and the product with it: 5u, and u for the result.",
        context=CONTEXT,
    ),
    Step(
        "Layer norm: a wrong mean moves every entry by the same",
        written(lambda: (entry[i] - (mean + mean_error)) - (entry[i] - mean)),
        -mean_error,
        "Absolute, not relative: an entry near the mean keeps no digit. Divided by the deviation it is e/√(var + eps).",
        context=CONTEXT,
    ),
    Step(
        "A mean's error is a share of the magnitudes, not of the mean",
        total(lambda m: entry[m] * (1 + relative[m]), "j", ENTRIES) / n - mean,
        total(lambda m: entry[m] * relative[m], "j", ENTRIES) / n,
        "So e ≤ γ(n) mean |x| + u |μ|, see rounding_of_sums.",
    ),
)

DERIVATION = Derivation(
    id="normalisation_rounding",
    title="Rounding of norms: the variance in two passes errs by a share of itself",
    opening=(
        "How far may rounding move the result of a norm? A variance computed in two passes is wrong by a small "
        "share of itself, one computed in a single pass can lose every digit, and a test must allow the first "
        "without excusing the second."
    ),
    see_also=(
        "layer_norm",
        "rms_norm",
        "rounding_of_sums",
    ),
    symbols=(
        Meaning((n,), "how many entries the vector has"),
        Meaning((i,), "the number of an entry"),
        Meaning((entry,), "the entries of the vector"),
        Meaning((relative,), "θ_j: the relative error that term j has gathered"),
        Meaning((mean_error,), "the error of the computed mean"),
        Meaning((variance,), "the variance"),
        Meaning((eps,), "the small number under the root"),
        Meaning((share,), "a relative error of the variance or mean square"),
        Meaning((root_share, product_share), "two relative errors of later operations"),
        Meaning((to_upper, to_lower), "g_j − θ_j and g_j + θ_j, for a bound g_j of θ_j"),
        Meaning((square,), "the mean of the squares"),
        Meaning((real("u"), real("mu")), "the unit roundoff, and the mean of the entries"),
        Meaning((real("gamma"),), "the bound γ(n) of rounding_of_sums"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Every operation returns the exact result times 1 + δ with |δ| ≤ u; underflow is counted apart.",
        "The variance is computed from centred entries; eps > 0 stands inside the root.",
    ),
    sources=(
        Source("Higham 2002, Accuracy and Stability of Numerical Algorithms, section 1.9", comment="sample variance"),
        Source("Chan, Golub & LeVeque 1983, Algorithms for computing the sample variance", comment="two passes"),
    ),
    steps=VARIANCE + ROOTS + RELATIVE,
    remarks=("`conformance_tests/operations/normalisation/bounds.py` computes these bounds.",),
    reason_without_law="It bounds what any correct implementation may return: every law of norms is judged by it.",
)
