"""How large weights start: the variance at which outputs, logits and the stream keep theirs at any width and depth."""

from __future__ import annotations

from sympy import Expr, IndexedBase, Integer, KroneckerDelta, sqrt
from veriformer.spec.derivations.context import Context, RandomFamily
from veriformer.spec.derivations.derivation import Derivation, Meaning, Scope, Source, Step
from veriformer.spec.derivations.expressions import Expectation, Variance, total
from veriformer.spec.derivations.formulas import array, index, positive, size, up_to
from veriformer.spec.derivations.provers import MOMENT_ALGEBRA

i, j = index("i"), index("j")
n, d, layers = size("n"), size("d"), size("N")
INPUTS, COMPONENTS, BRANCHES = up_to(n), up_to(d), up_to(2 * layers)
x, weights, others = array("x"), array("w"), array("u")
query, key, branch = array("q"), array("k"), array("b")
sigma, tau, scale, gain = positive("sigma"), positive("tau"), positive("s"), positive("g")
ZERO = Integer(0)
GIVEN = Context(
    ranges={i: INPUTS, j: INPUTS},
    families=(RandomFamily(weights, ZERO, sigma), RandomFamily(others, ZERO, tau)),
)
LECUN = Context(families=(RandomFamily(weights, ZERO, 1 / sqrt(n)), RandomFamily(x, ZERO, scale)))


def _of_heads(of_query: Expr, of_key: Expr) -> Context:
    """Return queries and keys whose components have these deviations."""
    return Context(families=(RandomFamily(query, ZERO, of_query), RandomFamily(key, ZERO, of_key)))


def _of_stream(of_branch: Expr) -> Context:
    """Return a stream whose entries have the deviation s, and branches with another."""
    return Context(ranges={i: INPUTS}, families=(RandomFamily(x, ZERO, scale), RandomFamily(branch, ZERO, of_branch)))


def dot(left: IndexedBase, right: IndexedBase, components: tuple[Expr, Expr]) -> Expr:
    """⟨left, right⟩."""
    return total(lambda c: left[c] * right[c], "i", components)


OUTPUTS = (
    Step(
        "The mean of one output",
        Expectation(dot(x, weights, INPUTS)),
        ZERO,
        "Expectation is linear, and every weight has the mean 0, whatever the inputs are.",
        MOMENT_ALGEBRA,
        GIVEN,
    ),
    Step(
        "The variance of one output",
        Variance(dot(x, weights, INPUTS)),
        sigma**2 * total(lambda c: x[c] ** 2, "i", INPUTS),
        "Weights are independent, so that variances add up. Of n inputs with the mean square s² it is n σ² s².",
        MOMENT_ALGEBRA,
        GIVEN,
    ),
    Step(
        "With the variance 1/n_in it stays",
        Variance(dot(x, weights, INPUTS)),
        scale**2,
        "Each of the n products has the variance s²/n: an output has that of an input, at every width.",
        MOMENT_ALGEBRA,
        LECUN,
    ),
    Step(
        "The variance of a mean",
        Variance(total(lambda c: weights[c], "i", INPUTS) / n),
        sigma**2 / n,
        "The mean of n entries is off by a few times σ/√n.",
        MOMENT_ALGEBRA,
        GIVEN,
    ),
    Step(
        "Entries of one matrix are uncorrelated",
        Expectation(weights[i] * weights[j]),
        KroneckerDelta(i, j) * sigma**2,
        "For i = j this is the variance. For i ≠ j the two are independent, and each has the mean 0.",
        MOMENT_ALGEBRA,
        GIVEN,
    ),
    Step(
        "Entries of different matrices are uncorrelated",
        Expectation(weights[i] * others[j]),
        ZERO,
        "They are independent, for i = j too.",
        MOMENT_ALGEBRA,
        GIVEN,
    ),
    Step(
        "What two matrices have in common",
        Variance(dot(weights, others, INPUTS)),
        n * sigma**2 * tau**2,
        "The inner product of n entries of each is a few times √n σ τ. Of a copy it would be n σ².",
        MOMENT_ALGEBRA,
        GIVEN,
        optional=True,
    ),
)

LOGITS = (
    Step(
        "The variance of a logit",
        Variance(dot(query, key, COMPONENTS) / sqrt(d)),
        n**2 * sigma**2 * tau**2 * scale**4,
        "By the steps before, a component of a query has the variance n σ² s² and one of a key n τ² s². Those of "
        "different columns are independent, given the inputs, and the division by √d takes the width of a head away.",
        MOMENT_ALGEBRA,
        _of_heads(sigma * scale * sqrt(n), tau * scale * sqrt(n)),
    ),
    Step(
        "With the variance 1/n_in a logit has the variance 1",
        Variance(dot(query, key, COMPONENTS) / sqrt(d)),
        Integer(1),
        "The step before with σ² = τ² = 1/n and inputs of the mean square 1, at every width of the model and the head.",
        MOMENT_ALGEBRA,
        _of_heads(Integer(1), Integer(1)),
    ),
)

STREAM = (
    Step(
        "A branch adds its gain",
        Variance(x[i] + branch[i]),
        scale**2 * (1 + gain),
        "What a branch adds has g times the variance of what it reads, and is uncorrelated with it: its last matrix is "
        "independent of the stream and has entries of mean 0.",
        MOMENT_ALGEBRA,
        _of_stream(scale * sqrt(gain)),
    ),
    Step(
        "After all branches",
        Variance(x[i] + total(lambda c: branch[c], "l", BRANCHES)),
        scale**2 * (1 + 2 * layers * gain),
        "N layers have 2N branches. Each reads the stream through a norm, so that all add the same.",
        MOMENT_ALGEBRA,
        _of_stream(scale * sqrt(gain)),
    ),
    Step(
        "Branches scaled by 1/√(2N) double the variance",
        Variance(x[i] + total(lambda c: branch[c], "l", BRANCHES) / sqrt(2 * layers)),
        2 * scale**2,
        "The step before with the gain 1/(2N): together the branches add what one alone would without the factor.",
        MOMENT_ALGEBRA,
        _of_stream(scale),
    ),
)

DERIVATION = Derivation(
    id="initialisation",
    title="Weights of variance 1/n_in keep the variance of logits, and a factor 1/√(2N) that of the stream",
    opening=(
        "How large should weights be at first? Where each matrix enlarges what it is given, or makes it smaller, by "
        "a factor, logits saturate or vanish with the width, and the stream grows with the depth, before a single step "
        "of training."
    ),
    see_also=("variance_scaling", "residual"),
    symbols=(
        Meaning((x,), "the inputs of a projection, or entries of the stream"),
        Meaning((weights, others), "entries of two projections: for one output of each, a column"),
        Meaning((sigma, tau), "their standard deviations"),
        Meaning((scale,), "the standard deviation of an input, or the root of the mean square of given inputs"),
        Meaning((query, key), "a query and a key, each a projection of n inputs"),
        Meaning((branch,), "what branches add to the stream"),
        Meaning((gain,), "the gain of a branch: the variance of what it adds, by the variance of what it reads"),
        Meaning((n,), "how many inputs a projection has"),
        Meaning((d,), "the width of a head"),
        Meaning((layers,), "the number of layers"),
        Meaning((i, j, index("l")), "numbers of entries, of components, of branches"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Weights are independent of each other and of the inputs, and have the mean 0.",
        "The branches of the stream count as independent; only that they are uncorrelated is used.",
    ),
    sources=(
        Source(
            "LeCun, Bottou, Orr & Müller 1998, Efficient BackProp, section 4.6",
            comment="weights of the deviation 1/√n_in",
        ),
        Source(
            "Glorot & Bengio 2010, Understanding the difficulty of training deep feedforward neural networks, "
            "section 4.2.1",
            comment="the variance 2/(n_in + n_out), a compromise with what gradients need",
        ),
        Source(
            "Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3",
            comment="residual layers scaled by the root of their number",
        ),
    ),
    steps=OUTPUTS + LOGITS + STREAM,
    remarks=("Without a norm before each branch the gains multiply: the variance after 2N branches is (1 + g)^(2N).",),
)
