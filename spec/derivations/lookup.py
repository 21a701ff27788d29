"""y_i = Σ_v h_iv W_v with one-hot rows h: the gradient of a table is a sum over the places of each token."""

from __future__ import annotations

from sympy import Expr, Function, Integer
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, index, real, size, up_to

vocabulary, places = size("N"), size("n")
VOCABULARY, PLACES = up_to(vocabulary), up_to(places)
v, i = index("v"), index("i")
table, gradient, one_hot = array("W"), array("G"), array("h")
factor = real("s")
order = Function("sigma", integer=True)
CONTEXT = Context(ranges={v: VOCABULARY, i: PLACES}, bijections={order: PLACES})
ANOTHER_TOKEN = Context(ranges=CONTEXT.ranges, facts={one_hot[i, v]: Integer(0)})
ONE = Integer(1)


def looked_up(place: Expr) -> Expr:
    """Return Σ_v h_iv W_v, one component of the vector at a place: the row of its token."""
    return total(lambda u: one_hot[place, u] * table[u], "u", VOCABULARY)


def loss(scale: Expr = ONE) -> Expr:
    """Return Σ_i G_i s y_i, whose gradient is that of any loss that has the gradient G by the vectors."""
    return total(lambda j: gradient[j] * scale * looked_up(j), "j", PLACES)


def row(token: Expr, place: Entries = lambda j: j) -> Expr:
    """Return Σ_i h_iv G_i, the gradient of the row of a token; `place` numbers the places anew."""
    return total(lambda j: one_hot[place(j), token] * gradient[place(j)], "j", PLACES)


STEPS = (
    Step(
        "The gradient of a table is the sum over the places of each token",
        Partial(loss(), table[v]),
        row(v),
        "Row v is used at every place whose token is v, and the gradients of all uses add up. The table itself is "
        "gone: a lookup is linear in it.",
        context=CONTEXT,
    ),
    Step(
        "A place adds to the row of its own token only",
        Partial(row(v), gradient[i]),
        Integer(0),
        "The derivative is h_iv, which is 0 where the token at place i is another than v. If no place has the token v, "
        "its row gets nothing.",
        context=ANOTHER_TOKEN,
    ),
    Step(
        "The rows of the gradient add up to that of all places",
        total(row, "v", VOCABULARY),
        total(lambda j: gradient[j] * total(lambda u: one_hot[j, u], "u", VOCABULARY), "j", PLACES),
        "The sums change places. Each place has one token, so that the inner sum is 1.",
        context=CONTEXT,
    ),
    Step(
        "The order of the places does not matter",
        row(v, order),
        row(v),
        "The sum runs over the same terms in another order.",
        context=CONTEXT,
    ),
    Step(
        "A scale of the vectors is one of the gradient",
        Partial(loss(factor), table[v]),
        factor * row(v),
        "The factor s, such as the square root of the width, is in every term.",
        context=CONTEXT,
    ),
    Difference(
        "Where a token comes twice, its last place alone is not the gradient",
        one_hot[1, 1] * gradient[1] + one_hot[2, 1] * gradient[2],
        one_hot[2, 1] * gradient[2],
        "Two places of one token with the gradients 1 and 3: their sum is 4. An assignment in place of an addition "
        "writes 1 and then 3 over it.",
        example=World(arrays={(one_hot, (1, 1)): 1, (one_hot, (2, 1)): 1, (gradient, (1,)): 1, (gradient, (2,)): 3}),
        values=("4", "3"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="lookup",
    title="The gradient of a table of vectors is a sum over the places of each token",
    opening=(
        "What is the gradient of an embedding table? Common tokens come many times in a batch and most words not at "
        "all, so that a backward pass that writes where it should add, or adds to the wrong row, trains some words "
        "and not others."
    ),
    see_also=("backward",),
    symbols=(
        Meaning((vocabulary, places), "how many words there are, and how many places: all positions of all samples"),
        Meaning((v, index("u")), "the number of a word"),
        Meaning((i, index("j")), "the number of a place"),
        Meaning((table,), "one component of the table: W_v is that of word v"),
        Meaning((one_hot,), "the one-hot rows: h_iv is 1 where the token at place i is v, and 0 elsewhere"),
        Meaning((gradient,), "one component of the gradient of the loss by the vectors"),
        Meaning((factor,), "the scale of the vectors"),
        Meaning((order,), "a permutation of the places"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The vector at place i is Σ_v h_iv W_v, component by component: the row of the token there.",
        "The loss is any differentiable function of the vectors, with the gradient G there.",
    ),
    sources=(
        Source(
            "Phuong & Hutter 2022, Formal Algorithms for Transformers, algorithm 1",
            comment="the lookup of a token's vector",
        ),
    ),
    steps=STEPS,
    remarks=("A table that logits use too gets the sum of both gradients.",),
)
