"""CE(z, y) = −Σ_k y_k ln softmax(z)_k: its gradient, its symmetries, its values, and the mean over kept targets."""

from __future__ import annotations

from sympy import Expr, Function, Integer, KroneckerDelta, exp, log, oo
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
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
from veriformer.spec.derivations.formulas import (
    Entries,
    array,
    entry_of,
    index,
    positive,
    real,
    size,
    up_to,
    weights,
)

n, count = size("n"), size("m")
CLASSES, POSITIONS = up_to(n), up_to(count)
k, target = index("k"), index("t")
i, j = index("i"), index("j")
z, y = array("z"), array("y")
shift, share, gap = real("c"), real("epsilon"), positive("g")
renumbering = Function("pi", integer=True)
CONTEXT = Context(ranges={k: CLASSES, target: CLASSES}, bijections={renumbering: CLASSES})

own = entry_of(z)
p = weights(own, CLASSES)
WEIGHTS = Definition(array("p"), p, (k,))
P = WEIGHTS.name


def surprise(logits: Entries, place: Expr) -> Expr:
    """ℓ_t = ln Σ_l e^(z_l) − z_t = −ln softmax(z)_t."""
    return log(total(lambda m: exp(logits(m)), "l", CLASSES)) - logits(place)


def smoothed(place: Expr) -> Expr:
    """Return the smoothed target: y = (1 − ε) one-hot(t) + ε/n."""
    return (1 - share) * KroneckerDelta(place, target) + share / n


def one_hot(place: Expr) -> Expr:
    """Return the target without smoothing: y = one-hot(t)."""
    return KroneckerDelta(place, target)


SURPRISE = Definition(array("ell"), lambda place: surprise(own, place), (k,))
SMOOTHED = Definition(y, smoothed, (k,))
ell = SURPRISE.name


def weighted_loss(distribution: Entries) -> Expr:
    """Σ_j y_j ℓ_j, in terms of the name ℓ."""
    return total(lambda m: distribution(m) * ell[m], "j", CLASSES)


GRADIENT = (
    Step(
        "The loss of a class is minus the logarithm of its weight",
        exp(-ell[target]),
        P[target],
        "e^(−ℓ_t) = e^(−ln S + z_t) = e^(z_t)/S, where S is Σ_l e^(z_l).",
        context=CONTEXT,
        where=(SURPRISE, WEIGHTS),
        optional=True,
    ),
    Step(
        "The gradient for any targets",
        Partial(weighted_loss(entry_of(y)), z[k]),
        P[k] * total(entry_of(y), "j", CLASSES) - y[k],
        "The derivative of ln S by z_k is p_k. It occurs once for every y_j.",
        context=CONTEXT,
        where=(SURPRISE, WEIGHTS),
        optional=True,
    ),
    Step(
        "The gradient for one class",
        Partial(ell[target], z[k]),
        P[k] - KroneckerDelta(k, target),
        "This is the step before for the target that is 1 at class t and 0 elsewhere.",
        context=CONTEXT,
        where=(SURPRISE, WEIGHTS),
    ),
    Step(
        "Smoothed targets sum to 1",
        total(smoothed, "k", CLASSES),
        Integer(1),
        "The target's share 1 − ε and n shares ε/n sum to 1.",
        context=CONTEXT,
        optional=True,
    ),
    Step(
        "The gradient for smoothed targets",
        Partial(weighted_loss(entry_of(y)), z[k]),
        P[k] - y[k],
        "The gradient for any targets, with Σ y = 1 by the step before.",
        context=CONTEXT,
        where=(SURPRISE, WEIGHTS, SMOOTHED),
    ),
    Step(
        "The gradients of the logits sum to 0",
        total(lambda m: P[m] - smoothed(m), "k", CLASSES),
        Integer(0),
        "Weights and smoothed targets both sum to 1, so that the loss pushes no position's logits up or down together.",
        context=CONTEXT,
        where=(WEIGHTS,),
    ),
    Difference(
        "Where Σ y is not 1, p − y is not the gradient",
        p(k) * total(entry_of(y), "j", CLASSES) - y[k],
        p(k) - y[k],
        "Two classes with z = (0, 1) and y = (2, 5): the gradient of the first is 7/(1 + e) − 2, and p − y is "
        "1/(1 + e) − 2.",
        example=World(symbols={n: 2, k: 1}, arrays={(z, (1,)): 0, (z, (2,)): 1, (y, (1,)): 2, (y, (2,)): 5}),
        values=("-0.11741", "-1.73106"),
        optional=True,
    ),
)

SYMMETRIES = (
    Step(
        "Adding a constant to all logits changes nothing",
        exp(surprise(lambda m: z[m] + shift, target)),
        exp(surprise(own, target)),
        "S gains the factor e^c, and e^(−z_t − c) loses it. Equal exponentials have equal exponents.",
        context=CONTEXT,
    ),
    Step(
        "Renumbering the classes changes nothing",
        surprise(lambda m: z[renumbering(m)], target),
        surprise(own, renumbering(target)),
        "S runs over the same terms in another order, and the target keeps its logit.",
        context=CONTEXT,
    ),
)


def odds(place: Expr) -> Expr:
    """e^ℓ = Σ_l e^(z_l − z_t)."""
    return total(lambda m: exp(z[m] - z[place]), "l", CLASSES)


VALUES = (
    Step(
        "The loss from differences of logits",
        exp(ell[target]),
        odds(target),
        "e^(ℓ_t) is S divided by e^(z_t).",
        context=CONTEXT,
        where=(SURPRISE,),
    ),
    Inequality(
        "No loss is negative",
        odds(target),
        Integer(1),
        "e^(ℓ_t) is at least 1, the term of the target itself; its rivals add positive terms. So ℓ_t ≥ 0.",
        context=CONTEXT,
        certificate=total(lambda m: (1 - KroneckerDelta(m, target)) * exp(z[m] - z[target]), "l", CLASSES),
    ),
    Step(
        "Equal logits cost ln n",
        exp(ell[target]),
        n,
        "With every logit equal to c, S is n e^c.",
        context=CONTEXT,
        where=(SURPRISE, Definition(z, lambda place: shift, (k,))),
    ),
    Step(
        "A target that leads equal rivals by g",
        exp(ell[target]),
        1 + (n - 1) * exp(-gap),
        "The target contributes 1, each of its n − 1 rivals e^(−g).",
        context=CONTEXT,
        where=(SURPRISE, Definition(z, lambda place: gap * KroneckerDelta(place, target), (k,))),
    ),
    Limit(
        "A wide lead costs nothing",
        log(1 + (n - 1) * exp(-gap)),
        Integer(0),
        "So the loss of a right and confident answer is not bounded away from 0.",
        variable=gap,
        point=oo,
        example=World(symbols={n: 5, gap: 3}),
        value="0.18161",
    ),
    Difference(
        "A second softmax bounds the loss away from 0",
        log(1 + (n - 1) * exp(-Integer(1))),
        log(1 + (n - 1) * exp(-gap)),
        "Weights differ by 1 at most: with logits softmax(z) the lead is at most 1, however large g is. "
        "Two classes and g = 20: 0.3133 and 2·10⁻⁹.",
        example=World(symbols={n: 2, gap: 20}),
        values=("0.3133", "0.000000002"),
        optional=True,
    ),
)

SMOOTHING = (
    Step(
        "Smoothing mixes the target's loss with the mean over all classes",
        weighted_loss(entry_of(y)),
        (1 - share) * ell[target] + share * total(lambda m: ell[m], "j", CLASSES) / n,
        "The loss is linear in the target distribution: its part (1 − ε) at class t gives ℓ_t, and the equal shares "
        "give the mean.",
        context=CONTEXT,
        where=(SURPRISE, SMOOTHED),
    ),
    Step(
        "Without smoothing only the target counts",
        weighted_loss(one_hot),
        ell[target],
        "The case ε = 0.",
        context=CONTEXT,
        where=(SURPRISE,),
    ),
)

keep, loss = array("w"), array("ell")
order = Function("sigma", integer=True)
MEAN = Context(ranges={i: POSITIONS, j: POSITIONS}, bijections={order: POSITIONS})
IGNORED = Context(ranges={i: POSITIONS}, facts={keep[i]: Integer(0)})
# The sums of the losses of two parts, and their numbers of kept targets.
first_sum, second_sum = real("A"), real("B")
first_count, second_count = positive("a"), positive("b")


def mean(indicator: Entries, losses: Entries) -> Expr:
    """Σ_i w_i ℓ_i / Σ_i w_i: w_i is 1 where the target is kept and 0 where it is ignored."""
    kept = total(indicator, "i", POSITIONS)
    return total(lambda m: indicator(m) * losses(m), "i", POSITIONS) / kept


AVERAGE = (
    Step(
        "What a position contributes to the mean",
        Partial(mean(entry_of(keep), entry_of(loss)), loss[i]),
        keep[i] / total(entry_of(keep), "j", POSITIONS),
        "Every kept position has the same part in the mean, in whichever sample it stands.",
        context=MEAN,
    ),
    Step(
        "An ignored position contributes nothing",
        Partial(mean(entry_of(keep), entry_of(loss)), loss[i]),
        Integer(0),
        "This is the step before with w_i = 0: no logit at that position changes the loss.",
        context=IGNORED,
    ),
    Step(
        "The order of the positions does not matter",
        mean(lambda m: keep[order(m)], lambda m: loss[order(m)]),
        mean(entry_of(keep), entry_of(loss)),
        "Both sums run over the same terms in another order.",
        context=MEAN,
    ),
    Step(
        "A mean is that of its parts, weighted by their numbers of targets",
        written(
            lambda: (
                (first_count * (first_sum / first_count) + second_count * (second_sum / second_count))
                / (first_count + second_count)
            )
        ),
        (first_sum + second_sum) / (first_count + second_count),
        "A part's mean, times its number of kept targets, is the sum of its losses. Equal parts have the same mean.",
    ),
)

DERIVATION = Derivation(
    id="cross_entropy",
    title="Cross entropy: its gradient, its symmetries, and what smoothing and ignoring do",
    opening=(
        "Which gradient does cross entropy have, and what do label smoothing and ignored positions do to the loss? "
        "A loss that is computed from the wrong logits, averaged over the wrong positions or put through softmax "
        "twice still trains, only worse, so these properties are worth checking."
    ),
    see_also=("softmax",),
    symbols=(
        Meaning((n,), "how many classes there are"),
        Meaning((k, target), "the numbers of a class and of the target class"),
        Meaning((z,), "the logits"),
        Meaning((y,), "the target distribution: y_k is the share of class k"),
        Meaning((P,), "the weights, the softmax of the logits"),
        Meaning(
            (ell,),
            "the loss: ℓ_k is ln Σ_l e^(z_l) − z_k, where k is the target; in the mean, ℓ_i is the loss of position i",
        ),
        Meaning((shift,), "a constant added to all logits"),
        Meaning((renumbering,), "a permutation of the classes"),
        Meaning((gap,), "the lead of the target's logit over those of its rivals"),
        Meaning((share,), "the smoothing: the share that goes to all classes equally"),
        Meaning((count,), "how many positions there are"),
        Meaning((i,), "the number of a position"),
        Meaning((keep,), "the weight of a position: 1 where its target is kept, 0 where it is ignored"),
        Meaning((order,), "a permutation of the positions"),
        Meaning((first_sum, second_sum), "the sums of the losses of two parts of the positions"),
        Meaning((first_count, second_count), "how many targets of these parts are kept"),
        Meaning((real("S"),), "the sum of the exponentials of the logits"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "There are n ≥ 1 logits z_1, …, z_n, which are real numbers, and one target class t.",
        "The mean runs over m positions with weights w_i, 1 where a target is kept and 0 where it is ignored, "
        "of which at least one is kept.",
    ),
    sources=(
        Source(
            "Goodfellow, Bengio & Courville 2016, Deep Learning, section 6.2.2.3",
            comment="the logarithm of softmax, its invariance under shifts, and its limit for a confident answer",
        ),
        Source(
            "Szegedy et al. 2016, Rethinking the Inception Architecture for Computer Vision, section 7",
            comment="smoothing: the target distribution is mixed with the uniform one",
        ),
    ),
    steps=GRADIENT + SYMMETRIES + VALUES + SMOOTHING + AVERAGE,
    remarks=(
        "e^x = e^y only if x = y, so that a step about e^ℓ is one about ℓ.",
        "A mean of the means of samples gives a position the weight 1/(samples · kept in its sample), which depends on "
        "its sample.",
    ),
)
