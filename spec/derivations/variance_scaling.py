"""Var(q·k) = d_k σ⁴ for independent zero-mean components of any distribution, hence the factor 1/√d_k."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, sqrt
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Expectation, Variance, total
from veriformer.spec.derivations.formulas import array, index, positive, real, up_to
from veriformer.spec.derivations.one_deviation_apart import WITHOUT_AND_WITH
from veriformer.spec.derivations.one_deviation_apart import width as d_k
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA

i, j = index("i"), index("j")
components = up_to(d_k)
query, key = array("q"), array("k")
mean_q, mean_k = real("mu_q"), real("mu_k")
deviation_q, deviation_k, deviation = positive("sigma_q"), positive("sigma_k"), positive("sigma")
skewness_q, skewness_k = real("gamma_q"), real("gamma_k")
kurtosis_q, kurtosis_k = positive("kappa_q"), positive("kappa_k")
ZERO = Integer(0)

GENERAL = Context(
    ranges={i: components, j: components},
    families=(RandomFamily(query, mean_q, deviation_q), RandomFamily(key, mean_k, deviation_k)),
)
ZERO_MEAN = Context(
    ranges={i: components},
    families=(RandomFamily(query, ZERO, deviation), RandomFamily(key, ZERO, deviation)),
)
FOUR_MOMENTS = Context(
    ranges={i: components},
    families=(
        RandomFamily(query, ZERO, deviation, skewness_q, kurtosis_q),
        RandomFamily(key, ZERO, deviation, skewness_k, kurtosis_k),
    ),
)


def dot(left: IndexedBase, right: IndexedBase) -> Expr:
    """⟨left, right⟩ = Σ_i left_i right_i over d_k components."""
    return total(lambda c: left[c] * right[c], "i", components)


variance_general = d_k * (deviation_q**2 * deviation_k**2 + mean_q**2 * deviation_k**2 + mean_k**2 * deviation_q**2)

PRODUCTS = (
    Step(
        "Mean of one product",
        Expectation(query[i] * key[i]),
        mean_q * mean_k,
        "q_i and k_i are independent, so the expectation of the product is the product of the expectations.",
        MOMENT_ALGEBRA,
        GENERAL,
    ),
    Step(
        "Variance of one product",
        Variance(query[i] * key[i]),
        variance_general / d_k,
        "q_i and k_i are independent, so E[q_i² k_i²] = E[q_i²] E[k_i²], and E[q_i²] = μ_q² + σ_q², likewise for k. "
        "Subtract the squared mean, (μ_q μ_k)².",
        MOMENT_ALGEBRA,
        GENERAL,
    ),
    Step(
        "Different components are uncorrelated",
        Expectation(query[i] * key[i] * query[j] * key[j]) - (mean_q * mean_k) ** 2,
        KroneckerDelta(i, j) * variance_general / d_k,
        "For i = j this is the variance of one product. For i ≠ j all four factors are independent, and it is 0.",
        MOMENT_ALGEBRA,
        GENERAL,
    ),
)

SUMS = (
    Step(
        "Mean of the inner product",
        Expectation(dot(query, key)),
        d_k * mean_q * mean_k,
        "Expectation is linear, and each of the d_k products has mean μ_q μ_k.",
        MOMENT_ALGEBRA,
        GENERAL,
    ),
    Step(
        "Variance of the inner product, any means",
        Variance(dot(query, key)),
        variance_general,
        "The square of the sum is a double sum over i and j. By the step before, each of the d_k terms with i = j is "
        "a variance, and the others are 0.",
        MOMENT_ALGEBRA,
        GENERAL,
    ),
    Step(
        "Variance of the inner product, zero means",
        Variance(dot(query, key)),
        d_k * deviation**4,
        "The step before with μ_q = μ_k = 0 and σ_q = σ_k = σ. This is an equality, not an approximation.",
        MOMENT_ALGEBRA,
        ZERO_MEAN,
    ),
    Step(
        "Division by √d_k",
        Variance(dot(query, key) / sqrt(d_k)),
        deviation**4,
        "Dividing a random number by √d_k divides its variance by d_k: the variance of a logit no longer depends on "
        "the width.",
        MOMENT_ALGEBRA,
        ZERO_MEAN,
    ),
    Step(
        "Fourth moment of the inner product",
        Expectation(dot(query, key) ** 4),
        (3 * d_k**2 + d_k * (kurtosis_q * kurtosis_k - 3)) * deviation**8,
        "The fourth power is a sum over four indices. Its terms are 0 unless all four agree (d_k ways) or they agree "
        "in two pairs (3 d_k (d_k − 1) ways). Divided by the squared variance it is 3 + (κ_q κ_k − 3)/d_k: as the "
        "width grows, the kurtosis of a logit tends to that of a Gaussian.",
        MOMENT_ALGEBRA,
        FOUR_MOMENTS,
        optional=True,
    ),
)

SKEWED = ((-1.0, 0.75), (3.0, 0.25))

NEGATIVE_CASE = (
    Step(
        "When k = q: the mean is not 0",
        Expectation(dot(query, query)),
        d_k * deviation**2,
        "Each product is now a square, with the mean σ². So the steps above need q and k to be independent.",
        MOMENT_ALGEBRA,
        ZERO_MEAN,
        optional=True,
    ),
    Step(
        "When k = q: the variance",
        Variance(dot(query, query)),
        d_k * (kurtosis_q - 1) * deviation**4,
        "Var(q_i²) = E[q_i⁴] − E[q_i²]² = (κ_q − 1) σ⁴, and the squares of different components are independent.",
        MOMENT_ALGEBRA,
        FOUR_MOMENTS,
        optional=True,
    ),
    Difference(
        "When k = q: the two variances differ",
        Variance(dot(query, query)),
        Variance(dot(query, key)),
        "Components that are −1 with probability 3/4 and 3 with probability 1/4 have mean 0, σ² = 3 and κ_q = 7/3. "
        "With d_k = 2 the two variances are 24 and 18; they agree only for κ_q = 2.",
        example=World(symbols={d_k: 2}, laws={query: SKEWED, key: SKEWED}),
        values=("24", "18"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="variance_scaling",
    title="Dividing by √d_k keeps the variance of the attention logits",
    opening=(
        "Why are attention logits divided by √d_k, the root of the width of a key, and not by d_k or not at all? "
        "Without the division the logits have a standard deviation of 8 at a width of 64: softmax gives nearly all "
        "weight to one key, and hardly any gradient reaches the queries and keys."
    ),
    see_also=("saturation", "initialisation"),
    symbols=(
        Meaning((query, key), "a query and a key; their components q_i and k_i are random numbers"),
        Meaning((d_k,), "the width: how many components a query and a key have"),
        Meaning((i, j), "numbers of components, from 1 to d_k"),
        Meaning((mean_q, mean_k), "the mean of a component of q, of k"),
        Meaning((deviation_q, deviation_k), "the standard deviation of a component of q, of k"),
        Meaning((deviation,), "the standard deviation of a component where q and k have the same one"),
        Meaning(
            (skewness_q, skewness_k),
            "the skewness of a component: the mean of ((X − μ)/σ)³ for its mean μ and deviation σ",
        ),
        Meaning(
            (kurtosis_q, kurtosis_k), "the kurtosis of a component: the mean of ((X − μ)/σ)⁴, which is 3 for a Gaussian"
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The components of q are independent and identically distributed, and so are those of k.",
        "q and k are independent of each other.",
        "Second moments exist, and fourth moments in the steps that name a kurtosis. Nothing else is assumed about the "
        "distribution: it need be neither Gaussian nor symmetric.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.2.1, footnote 4",
            "assume that the components of q and k are independent random variables with mean 0 and "
            "variance 1. Then their dot product […] has mean 0 and variance d_k",
        ),
        Source(
            "Seed document 004, Understanding the Transformer, footnote on scaling",
            "Assume that each component of $Q_i$ and $K_j$ is i.i.d with zero mean and variance $\\sigma^2$",
            "the document then states the variance with ≈; it is an equality",
        ),
    ),
    steps=WITHOUT_AND_WITH + PRODUCTS + SUMS + NEGATIVE_CASE,
    remarks=(
        "The standard deviation of an unscaled logit is √d_k σ², which is why the factor is 1/√d_k and not 1/d_k.",
        "Trained queries and keys are neither independent nor of equal variance; the law describes initialisation.",
    ),
    reason_without_law="That logits are divided by √d_k is a definition; this says why it was chosen.",
)
