"""A feed-forward network is a sum over hidden units, at each position alone; a gated one is linear in one branch."""

from __future__ import annotations

from sympy import Expr, Function, Integer, KroneckerDelta, exp
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, positive, size, up_to

L, E, F, part = size("L"), size("E"), size("F"), size("m")
UNITS, WIDTH = up_to(F), up_to(E)
i, j, e, a = index("i"), index("j"), index("e"), index("a")
x, hidden, gate, indicator = array("x"), array("h"), array("g"), array("p")
w_1, w_2, b_1, b_2 = array("W_1"), array("W_2"), array("b_1"), array("b_2")
w_gate, w_up, w_other, w_down = array("W_gate"), array("W_up"), array("W_other"), array("W_down")
factor = positive("alpha")
pi = Function("pi", integer=True)
RANGES = {i: up_to(L), j: up_to(L), e: WIDTH, a: WIDTH}
PLAIN = Context(ranges=RANGES)


def projected(vector: Entries, weight: Entries, unit: Expr) -> Expr:
    """Σ_a x_a W[a, f], the product of a vector and the matrix at unit f."""
    return total(lambda c: vector(c) * weight(c, unit), "a", WIDTH)


def mixed(units: Entries, weight: Entries) -> Expr:
    """Σ_f h_f W_2[f, e]."""
    return total(lambda f: units(f) * weight(f, e), "f", UNITS)


def silu(argument: Expr) -> Expr:
    """z/(1 + e^(−z)): an activation written out, where a step needs one."""
    return argument / (1 + exp(-argument))


def gated(gated_by: Entries, up: Entries) -> Expr:
    """Σ_f (activated gate)_f ⟨x, W_up⟩_f W_down[f, e]."""
    return mixed(lambda f: gated_by(f) * projected(entry_of(x), up, f), entry_of(w_down))


def times_gate(unit: Expr) -> Expr:
    """z_f g_f with z = x W_gate: ReLU, GELU and SiLU are all of this form, with a finite gate g."""
    return projected(entry_of(x), entry_of(w_gate), unit) * gate[unit]


def network_at(position: Expr) -> Expr:
    """Component e of the network with SiLU at a position."""

    def row(component: Expr) -> Expr:
        return x[position, component]

    return mixed(lambda f: silu(projected(row, entry_of(w_1), f) + b_1[f]), entry_of(w_2)) + b_2[e]


UNITS_STEPS = (
    Step(
        "The order of the hidden units does not matter",
        mixed(lambda f: hidden[pi(f)], lambda f, out: w_2[pi(f), out]) + b_2[e],
        mixed(entry_of(hidden), entry_of(w_2)) + b_2[e],
        "Unit f's activation h_f is made of its own column of W_1 and entry of b_1 alone, so that permuting these "
        "permutes h; and a sum may be taken in any order.",
        context=Context(ranges=RANGES, bijections={pi: UNITS}),
    ),
    Step(
        "Two parts of the hidden units add up to the whole",
        mixed(entry_of(hidden), entry_of(w_2)),
        total(lambda f: hidden[f] * w_2[f, e], "f", up_to(part))
        + total(lambda f: hidden[f] * w_2[f, e], "f", (part + 1, F)),
        "The sum over all units is the sum over the first m and the sum over the others.",
        context=Context(ranges=RANGES, splits={UNITS: part}, parametrisation={F: part + size("n")}),
    ),
    Step(
        "Where the second matrix is zero its bias is left",
        mixed(entry_of(hidden), entry_of(w_2)) + b_2[e],
        b_2[e],
        "Every term of the sum has a factor 0.",
        context=Context(ranges=RANGES, blocks=(Block(w_2, (None, None), 0),)),
    ),
)

POSITIONS = (
    Step(
        "No dependence on another position",
        Partial(network_at(i), x[j, a]),
        Integer(0),
        "The derivative has the factor δ_ij, which is 0 for i ≠ j. The step writes out SiLU, but any activation would "
        "do; in a gated network there are two factors of this kind.",
        context=Context(ranges=RANGES, facts={KroneckerDelta(i, j): Integer(0)}),
    ),
    Step(
        "ReLU without biases: scaling the input scales the result",
        mixed(lambda f: indicator[f] * projected(lambda c: factor * x[c], entry_of(w_1), f), entry_of(w_2)),
        factor * mixed(lambda f: indicator[f] * projected(entry_of(x), entry_of(w_1), f), entry_of(w_2)),
        "ReLU is max(0, z) = p z, where p is 1 for z > 0 and 0 elsewhere. For α > 0, α z is positive exactly where z "
        "is, so p stays.",
        context=Context(ranges=RANGES, indicators=frozenset({indicator})),
    ),
    Difference(
        "ReLU with a bias: scaling the input does not scale the result",
        2 * x[1] * w_1[1, 1] + b_1[1],
        2 * (x[1] * w_1[1, 1] + b_1[1]),
        "One unit with the input 2, the weight 3 and the bias 5, so that ReLU changes nothing: 2 · 6 + 5 = 17 and 2 "
        "(6 + 5) = 22.",
        example=World(arrays={(x, (1,)): 2, (w_1, (1, 1)): 3, (b_1, (1,)): 5}),
        values=("17", "22"),
        optional=True,
    ),
)

GATED = (
    Step(
        "A gated network is linear in the branch that is not activated",
        gated(entry_of(hidden), lambda c, f: w_up[c, f] + w_other[c, f]),
        gated(entry_of(hidden), entry_of(w_up)) + gated(entry_of(hidden), entry_of(w_other)),
        "The activated gate h does not depend on W_up.",
        context=PLAIN,
    ),
    Step(
        "Negating that branch negates the result",
        gated(entry_of(hidden), lambda c, f: -w_up[c, f]),
        -gated(entry_of(hidden), entry_of(w_up)),
        "Linearity, with the factor −1.",
        context=PLAIN,
    ),
    Difference(
        "Negating the gate does not negate the result",
        silu(-x[1]),
        -silu(x[1]),
        "silu(−1) = −0.2689 and −silu(1) = −0.7311. So exchanging gate and branch shows.",
        example=World(arrays={(x, (1,)): 1}),
        values=("-0.2689", "-0.7311"),
        optional=True,
    ),
    Step(
        "A gate whose matrix is zero lets nothing through",
        gated(times_gate, entry_of(w_up)),
        Integer(0),
        "Each activated gate is 0 times a finite number, which is 0.",
        context=Context(ranges=RANGES, blocks=(Block(w_gate, (None, None), 0),)),
    ),
    Step(
        "The order of the hidden units of a gated network does not matter either",
        mixed(
            lambda f: hidden[pi(f)] * projected(entry_of(x), lambda c, unit: w_up[c, pi(unit)], f),
            lambda f, out: w_down[pi(f), out],
        ),
        gated(entry_of(hidden), entry_of(w_up)),
        "The columns of both matrices and the rows of the last one move together.",
        context=Context(ranges=RANGES, bijections={pi: UNITS}),
    ),
)

DERIVATION = Derivation(
    id="feed_forward",
    title="Feed-forward networks are sums over hidden units, at each position alone",
    opening=(
        "What can be said of a feed-forward network without knowing its weights? It is a sum over hidden units and "
        "acts on each position alone, so its units may come in any order or be split over devices, and no position "
        "may influence another."
    ),
    see_also=("gated_activations", "matrices_backward"),
    symbols=(
        Meaning((E, F), "the width of a token, and how many hidden units there are"),
        Meaning((L,), "how many positions there are"),
        Meaning((i, j), "numbers of positions"),
        Meaning((e, a), "numbers of components of a token"),
        Meaning((index("f"),), "the number of a hidden unit"),
        Meaning((x,), "the token, or with two indices all tokens"),
        Meaning((hidden,), "the activations: h_f is that of hidden unit f"),
        Meaning((w_1, w_2), "the two matrices of a network"),
        Meaning((b_1, b_2), "their biases"),
        Meaning(
            (w_gate, w_up, w_down),
            "the matrices of a gated network: of the gate, of the other branch, and of the output",
        ),
        Meaning((w_other,), "another matrix in the place of W_up"),
        Meaning((gate,), "the gate of a unit: the activation of z is z g"),
        Meaning((indicator,), "1 where the hidden unit is positive, 0 elsewhere"),
        Meaning((part, size("n")), "F = m + n: the numbers of hidden units in two parts"),
        Meaning((factor,), "a positive factor of the input"),
        Meaning((pi,), "a permutation of the hidden units"),
        Meaning((array("z"),), "the input of an activation"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "The activation may be any function; steps that need one write it out.",
        "Tokens are rows: W_1, W_gate and W_up have E rows and F columns, W_2 and W_down F rows and E columns.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.3",
            "applied to each position separately and identically",
        ),
        Source("Shazeer 2020, GLU Variants Improve Transformer, section 2", comment="the gated networks"),
    ),
    steps=UNITS_STEPS + POSITIONS + GATED,
    remarks=(
        "So a network may be cut into parts by hidden units, each on a device of its own, and the results added.",
    ),
)
