"""The gradients of merging two parts of an attention, by their outputs and by their log-sum-exps."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, Integer, Rational, exp, log, oo
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import array, entry_of, index, real, size, up_to

d_v, s, e = size("d_v"), index("s"), index("e")
output, other_output, grad_output, other_grad = array("a"), array("b"), array("G"), array("F")
lse, other_lse, shift = real("alpha"), real("beta"), real("t")
grad_lse, other_grad_lse, first, second = real("g"), real("f"), real("mu"), real("nu")
apart, share = real("x"), real("w")
WIDTH = up_to(d_v)
OF_COMPONENT = Context(ranges={s: WIDTH})
Vector = Callable[[Expr], Expr]
A, B, G, F = (entry_of(one) for one in (output, other_output, grad_output, other_grad))


def weight(one: Expr = lse, other: Expr = other_lse) -> Expr:
    """e^α / (e^α + e^β), the weight of a part."""
    return exp(one) / (exp(one) + exp(other))


def merged(component: Expr) -> Expr:
    """(e^α a_e + e^β b_e) / (e^α + e^β)."""
    return weight() * output[component] + weight(other_lse, lse) * other_output[component]


def loss() -> Expr:
    """Σ_e G_e o_e + g λ, whose gradients are those of any loss with these by the merged output and log-sum-exp."""
    of_output = total(lambda c: grad_output[c] * merged(c), "e", WIDTH)
    return of_output + grad_lse * log(exp(lse) + exp(other_lse))


def distance(grad: Vector = G, one: Vector = A, other: Vector = B) -> Expr:
    """Σ_e G_e (a_e − b_e)."""
    return total(lambda c: grad(c) * (one(c) - other(c)), "e", WIDTH)


def grad_of_lse(of_output: Expr, share: Expr = share, of_lse: Expr = grad_lse) -> Expr:
    """W (1 − w) x + w g, the gradient of a log-sum-exp: w the weight of its part, x as in `distance`."""
    return share * (1 - share) * of_output + share * of_lse


def from_merged(one: Vector, of: Expr, merged: Vector = merged) -> Expr:
    """W (Σ_e G_e (a_e − o_e) + g), the same by the distance from the merged output o."""
    return of * (total(lambda c: grad_output[c] * (one(c) - merged(c)), "e", WIDTH) + grad_lse)


GRADIENTS = (
    Step(
        "The gradient of a part's output",
        Partial(loss(), output[s]),
        weight() * grad_output[s],
        "The merged output is linear in the outputs of the parts, and the weights are the coefficients.",
        context=OF_COMPONENT,
    ),
    Step(
        "The gradient of a part's log-sum-exp",
        Partial(loss(), lse),
        from_merged(A, weight()),
        "Two ways lead to α. By the weights, as in softmax: what is subtracted is the average, which is the merged "
        "output. By the merged log-sum-exp, whose derivative is the weight.",
    ),
    Step(
        "The gradient of the other part's log-sum-exp",
        Partial(loss(), other_lse),
        from_merged(B, weight(other_lse, lse)),
        "The same with the parts exchanged: the order of the parts does not matter.",
    ),
    Step(
        "The weights sum to 1",
        weight() + weight(other_lse, lse),
        Integer(1),
        "So the other part has 1 − w if the one has w.",
    ),
    Step(
        "By the distance of the outputs",
        from_merged(A, share, lambda c: share * output[c] + (1 - share) * other_output[c]),
        grad_of_lse(distance()),
        "The distance from the merged output is the other weight times that of the outputs: raising α moves weight "
        "from one part to the other, at the rate of the product of both weights.",
    ),
)

SUMS = (
    Step(
        "The gradients of the outputs sum to that of the merged output",
        weight() * grad_output[s] + weight(other_lse, lse) * grad_output[s],
        grad_output[s],
        "One vector added to both outputs is added to the merged one.",
        context=OF_COMPONENT,
    ),
    Step(
        "The gradients of the log-sum-exps sum to that of the merged one",
        grad_of_lse(apart) + grad_of_lse(-apart, 1 - share),
        grad_lse,
        "One number added to both log-sum-exps is added to the merged one, and changes no output.",
    ),
    Step(
        "A number added to both log-sum-exps changes no weight",
        weight(lse + shift, other_lse + shift),
        weight(),
        "And so no gradient. A reference value, such as the larger of the two, may be subtracted, so that no "
        "exponential overflows.",
    ),
    Step(
        "Equal outputs leave the log-sum-exps what comes by the merged one",
        grad_of_lse(distance(G, A, A)),
        share * grad_lse,
        "If a = b the merged output is a whatever the weights are.",
    ),
    Step(
        "Equal log-sum-exps: both weights are one half",
        written(lambda: exp(lse) / (exp(lse) + exp(lse))),
        Rational(1, 2),
        "A part that is merged with itself gets half of each gradient twice.",
    ),
    Step(
        "The gradients are linear in G and g together",
        grad_of_lse(
            distance(lambda c: first * grad_output[c] + second * other_grad[c]),
            share,
            first * grad_lse + second * other_grad_lse,
        ),
        first * grad_of_lse(distance()) + second * grad_of_lse(distance(F), share, other_grad_lse),
        "Every term has one factor of them. The gradient of an output has G alone.",
    ),
)

EMPTY = (
    Limit(
        "An empty part's output has no gradient",
        weight() * apart,
        Integer(0),
        "The mass e^α of a part without keys is 0, and with it the weight.",
        variable=lse,
        point=-oo,
    ),
    Limit(
        "An empty part's log-sum-exp has no gradient",
        grad_of_lse(apart, weight()),
        Integer(0),
        "Every term has the weight as a factor.",
        variable=lse,
        point=-oo,
    ),
    Limit(
        "Beside an empty part the other gets the whole gradient",
        grad_of_lse(apart, weight(other_lse, lse)),
        grad_lse,
        "Its weight is 1, and the product of both weights is 0.",
        variable=lse,
        point=-oo,
    ),
    Difference(
        "Without the other weight the gradient is wrong",
        grad_of_lse(apart, weight()),
        weight() * apart + weight() * grad_lse,
        "Two parts of equal weight, outputs that differ by x = 4 along G, and g = 0: the gradient is 1, not 2.",
        example=World(symbols={lse: 0, other_lse: 0, apart: 4, grad_lse: 0}),
        values=("1", "2"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="merging_backward",
    title="The gradients of merging two parts of an attention",
    opening=(
        "Which gradients does the merging of two parts pass to their outputs and to their log-sum-exps? Code that "
        "computes attention in parts, on several devices or beside a shared prefix, often forgets the log-sum-exps, "
        "through which a part learns how much weight it should have."
    ),
    see_also=(
        "online_softmax",
        "attention_backward",
    ),
    symbols=(
        Meaning((d_v,), "the width of an output"),
        Meaning((s, e), "numbers of components"),
        Meaning((output, other_output), "the outputs of the two parts"),
        Meaning((lse, other_lse), "their log-sum-exps"),
        Meaning((grad_output, other_grad), "two gradients of the loss by the merged output"),
        Meaning((grad_lse, other_grad_lse), "two gradients of the loss by the merged log-sum-exp"),
        Meaning((apart,), "any number, such as Σ_e G_e (a_e − b_e)"),
        Meaning((share,), "the weight of the first part"),
        Meaning((first, second, shift), "numbers"),
        Meaning((array("o"),), "the merged output"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The loss is any differentiable function of the merged output and of the merged log-sum-exp.",
        "One query of one head: the others add nothing to its gradients. Logarithms are natural.",
        "Both log-sum-exps are finite, unless a step says otherwise.",
    ),
    sources=(
        Source(
            "Milakov & Gimelshein 2018, Online normalizer calculation for softmax, section 3.1",
            comment="the merging; its gradients follow by the chain rule",
        ),
        Source(
            "Dao et al. 2022, FlashAttention, appendix B.2",
            comment="the gradient through a softmax, of which this is one over two parts",
        ),
    ),
    steps=GRADIENTS + SUMS + EMPTY,
    remarks=(
        "Two empty parts merge to the constants 0 and −∞ by definition, so that nothing flows back from them.",
        "With logarithms to base 2 the derivative of the merged log-sum-exp would still be the weight, but that of the "
        "weights would have a factor ln 2.",
    ),
)
