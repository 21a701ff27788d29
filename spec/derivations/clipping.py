"""Clipping by the norm of all gradients: the norm that is left, the direction that is kept, and what cancels."""

from __future__ import annotations

from sympy import Expr, Function, Integer, sqrt
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, size, up_to

n, A = size("n"), size("A")
ENTRIES, ARRAYS = up_to(n), up_to(A)
i, k, b = index("i"), index("k"), index("b")
g, tree = array("g"), array("G")
bound, norm, rest, factor, epsilon = (
    positive("M"),
    positive("a"),
    positive("delta"),
    positive("alpha"),
    positive("epsilon"),
)
pi = Function("pi", integer=True)
OF_TWO = Context(ranges={i: ENTRIES, k: ENTRIES})
OF_ONE = Context(ranges={i: ENTRIES})
ORDERED = Context(ranges={b: ARRAYS}, bijections={pi: ARRAYS})


def squares(vector: Entries) -> Expr:
    """Σ_l g_l²."""
    return total(lambda m: vector(m) ** 2, "l", ENTRIES)


def clipped(vector: Entries, place: Expr, most: Expr = bound) -> Expr:
    """g_i M/‖g‖, of gradients beyond the bound."""
    return vector(place) * most / sqrt(squares(vector))


def share(length: Expr, most: Expr) -> Expr:
    """min(1, M/‖g‖) = M/max(‖g‖, M), the larger of two being half their sum and half their distance."""
    return most / ((length + most + sqrt((length - most) ** 2)) / 2)


def norm_of_array(place: Expr) -> Expr:
    """The norm of the array at a place, √(Σ_l G_bl²)."""
    return sqrt(squares(lambda m: tree[place, m]))


own = entry_of(g)
CLIPPED = Definition(array("y"), lambda place: clipped(own, place), (i,))
y = CLIPPED.name

THE_BOUND = (
    Step(
        "Beyond the bound the norm becomes the bound",
        squares(lambda m: clipped(own, m)),
        bound**2,
        "The squares have the factor M²/‖g‖², and without it they sum to ‖g‖².",
        context=OF_ONE,
    ),
    Step(
        "Within the bound nothing changes",
        written(lambda: share(norm, norm + rest)),
        Integer(1),
        "The norm a lies below the bound a + δ, so that the larger of the two is the bound: the factor is 1.",
    ),
    Step(
        "Beyond the bound the factor is the bound over the norm",
        written(lambda: share(bound + rest, bound)),
        bound / (bound + rest),
        "The norm M + δ is the larger of the two.",
        optional=True,
    ),
    Step(
        "Clipping again multiplies by one",
        bound / sqrt(squares(lambda m: clipped(own, m))),
        Integer(1),
        "The norm of what was clipped is the bound.",
        context=OF_ONE,
    ),
    Inequality(
        "No addition to the norm makes the result longer",
        bound / norm,
        bound / (norm + epsilon),
        "Where ε is added to the norm a, the divisor is larger, and the norm of the result smaller than the bound.",
        certificate=bound * epsilon / (norm * (norm + epsilon)),
    ),
)

ONE_VECTOR = (
    Step(
        "One factor keeps the direction",
        y[i] * g[k],
        y[k] * g[i],
        "Both sides are g_i g_k times the factor.",
        context=OF_TWO,
        where=(CLIPPED,),
    ),
    Step(
        "The norm of the norms is the norm of all entries",
        written(lambda: total(lambda place: norm_of_array(place) ** 2, "b", ARRAYS)),
        total(lambda place: squares(lambda m: tree[place, m]), "b", ARRAYS),
        "The square of an array's norm is the sum of its squares. So nothing depends on which entries make an array; "
        "arrays of unequal length are filled up with zeros.",
    ),
    Step(
        "The norm of the norms does not depend on their order",
        total(lambda place: norm_of_array(pi(place)) ** 2, "b", ARRAYS),
        total(lambda place: norm_of_array(place) ** 2, "b", ARRAYS),
        "A sum may be taken in any order.",
        context=ORDERED,
    ),
    Difference(
        "The norm of each array alone changes the direction",
        bound * norm / sqrt(norm**2 + rest**2),
        bound * norm / sqrt(norm**2),
        "Two arrays of one entry each, 3 and 4, with the bound 1: the first becomes 3/5, and 1 where it is clipped by "
        "its own norm. The second becomes 4/5, and 1 as well.",
        example=World(symbols={norm: 3, rest: 4, bound: 1}),
        values=("0.6", "1"),
        optional=True,
    ),
)

SYMMETRIES = (
    Step(
        "The scale of large gradients cancels",
        clipped(lambda m: factor * g[m], i),
        clipped(own, i),
        "Entries and norm have the factor α. Only gradients beyond the bound lose it.",
        context=OF_ONE,
    ),
    Step(
        "Gradients and bound scale together",
        clipped(lambda m: factor * g[m], i, factor * bound),
        factor * clipped(own, i),
        "The factor M/‖g‖ stays, and so does the comparison of the two.",
        context=OF_ONE,
    ),
    Step(
        "Clipping is odd",
        written(lambda: clipped(lambda m: -g[m], i)),
        written(lambda: -clipped(own, i)),
        "A square does not depend on the sign.",
        context=OF_ONE,
    ),
)

DERIVATION = Derivation(
    id="clipping",
    title="Clipping by the norm of all gradients keeps the direction and bounds the length",
    opening=(
        "What is left of gradients that are clipped together? If each array were clipped by its own norm, the step "
        "would point elsewhere."
    ),
    symbols=(
        Meaning((n, A), "the number of entries, and that of arrays"),
        Meaning((i, k, b), "the numbers of two entries, and of an array"),
        Meaning((g,), "the entries of all gradients, one after the other"),
        Meaning((tree,), "the entries of the gradients, array by array"),
        Meaning((bound,), "the bound of the norm, M > 0"),
        Meaning((norm, rest), "a norm, and how far the bound or the norm lies beyond; two entries in the example"),
        Meaning((factor,), "a factor of all gradients"),
        Meaning((epsilon,), "what is added to the norm, ε > 0"),
        Meaning((pi,), "another order of the arrays"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("The gradients are not all zero.",),
    sources=(
        Source(
            "Pascanu, Mikolov & Bengio 2013, On the difficulty of training recurrent neural networks, section 3.2",
            comment="algorithm 1, and that the direction is kept",
        ),
    ),
    steps=THE_BOUND + ONE_VECTOR + SYMMETRIES,
)
