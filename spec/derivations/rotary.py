"""⟨R_m q, R_n k⟩ depends on n − m only, R_m keeps lengths, R_m R_n = R_{m+n}; and both ways of storing the pairs."""

from __future__ import annotations

from sympy import Expr, ImmutableMatrix, IndexedBase, Integer, KroneckerDelta, MatAdd, MatMul, Symbol, cos, sin
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, Quotient, Range, Remainder, total
from veriformer.spec.derivations.formulas import Entries, array, index, real, size
from veriformer.spec.derivations.provers import EUCLIDEAN_DIVISION, TRIGONOMETRY

pairs_count = size("p")
k, l = index("k"), index("l")  # noqa: E741
s, t = index("s"), index("t")
m, n, shift, a, b = real("m"), real("n"), real("Delta"), real("a"), real("b")
frequency = array("theta")
query, key, x, z = array("Q"), array("K"), array("x"), array("z")
gradient = array("G")
PAIRS: Range = (Integer(0), pairs_count - 1)
PAIR_INDICES = Context(ranges={k: PAIRS, l: PAIRS})


def pair(vector: IndexedBase, which: Expr = k) -> ImmutableMatrix:
    """The pair (vector[k, 0], vector[k, 1]) as a column."""
    return ImmutableMatrix([vector[which, 0], vector[which, 1]])


def rotation(position: Expr, which: Expr = k) -> ImmutableMatrix:
    """The block R_k, which turns the k-th pair by position · θ_k."""
    angle = position * frequency[which]
    return ImmutableMatrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def turned(position: Expr, vector: IndexedBase, which: Expr = k) -> ImmutableMatrix:
    """The k-th pair of R_position · vector."""
    return ImmutableMatrix(rotation(position, which) * pair(vector, which))


def component(position: Expr, vector: IndexedBase, which: Expr, place: Expr) -> Expr:
    """Component 0 or 1 of the k-th pair of R_position · vector: both rows of `turned` in one formula."""
    angle = position * frequency[which]
    return cos(angle) * vector[which, place] + (2 * place - 1) * sin(angle) * vector[which, 1 - place]


QUERY = Definition(array("Q'"), lambda position, which, place: component(position, query, which, place), (m, k, s))
KEY = Definition(array("K'"), lambda position, which, place: component(position, key, which, place), (n, k, s))


def both_components(product: Entries) -> Expr:
    """Σ_k (product(k, 0) + product(k, 1)), over all p pairs."""
    return total(lambda i: product(i, Integer(0)) + product(i, Integer(1)), "k", PAIRS)


def inner_product(one: Expr, other: Expr) -> Expr:
    """⟨R_one q, R_other k⟩, over all p pairs, in terms of the names."""
    return both_components(lambda i, place: QUERY.name[one, i, place] * KEY.name[other, i, place])


def squared_length(column: ImmutableMatrix) -> Expr:
    """The sum of the squares of a pair."""
    return column[0] ** 2 + column[1] ** 2


def loss_of_pair(position: Expr) -> Expr:
    """G · R_position x of the k-th pair, whose gradient is that of any loss with the gradient G by the turned pair."""
    column = turned(position, x)
    return gradient[k, 0] * column[0] + gradient[k, 1] * column[1]


RELATIVE = (
    Step(
        "The inner product of a turned query and a turned key",
        inner_product(m, n),
        both_components(lambda i, place: query[i, place] * KEY.name[n - m, i, place]),
        "On the left the query is turned by m and the key by n, on the right the key alone by n − m: in every pair "
        "the two rotations combine to one. So only the difference n − m matters.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        where=(QUERY, KEY),
    ),
    Step(
        "A common shift changes nothing",
        inner_product(m + shift, n + shift),
        inner_product(m, n),
        "The difference of the positions stays: (n + Δ) − (m + Δ) = n − m.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        where=(QUERY, KEY),
    ),
    Step(
        "Every pair keeps its length",
        squared_length(turned(m, x)),
        squared_length(pair(x)),
        "cos² + sin² = 1; the mixed terms cancel.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "The whole vector keeps its length",
        total(lambda i: squared_length(turned(m, x, i)), "k", PAIRS),
        total(lambda i: squared_length(pair(x, i)), "k", PAIRS),
        "The sum over the pairs.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
)

GROUP = (
    Step(
        "Turning twice is turning by the sum",
        MatMul(rotation(m), rotation(n), pair(x)),
        MatMul(rotation(m + n), pair(x)),
        "The addition theorems of sine and cosine.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "Turning back gives the vector back",
        MatMul(rotation(-m), rotation(m), pair(x)),
        pair(x),
        "By the step before, the two rotations are one by −m + m = 0, and position 0 turns nothing.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "The gradient is turned back",
        ImmutableMatrix([Partial(loss_of_pair(m), x[k, 0]), Partial(loss_of_pair(m), x[k, 1])]),
        turned(-m, gradient),
        "By the chain rule it is multiplied by the transpose of the rotation, which is the rotation by −m: only the "
        "sign of the sines differs.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "Turning is linear",
        MatMul(rotation(m), MatAdd(a * pair(x), b * pair(z))),
        MatAdd(a * turned(m, x), b * turned(m, z)),
        "It is multiplication by a matrix.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
)


def matrix_entry(pair_row: Expr, pair_column: Expr, row: Expr, column: Expr) -> Expr:
    """Entry ((k, s), (l, t)) of R: δ_kl (δ_st cos mθ_k + (s − t) sin mθ_k)."""
    angle = m * frequency[pair_row]
    inside = KroneckerDelta(row, column) * cos(angle) + (row - column) * sin(angle)
    return KroneckerDelta(pair_row, pair_column) * inside


def interleaved_entry(row: Expr, column: Expr) -> Expr:
    """Entry (c, e) where pair k stands at 2k and 2k + 1: c is place c mod 2 of pair ⌊c/2⌋."""
    quotients = (Quotient(row, 2), Quotient(column, 2))
    return matrix_entry(*quotients, Remainder(row, 2), Remainder(column, 2))


def half_entry(row: Expr, column: Expr) -> Expr:
    """Entry (c, e) where pair k stands at k and k + p: c is place ⌊c/p⌋ of pair c mod p."""
    remainders = (Remainder(row, pairs_count), Remainder(column, pairs_count))
    return matrix_entry(*remainders, Quotient(row, pairs_count), Quotient(column, pairs_count))


beyond = Symbol("u", integer=True, nonnegative=True)
within = Symbol("k", integer=True, nonnegative=True)
# k + u + 1 = p says that k is at most p − 1.
IN_RANGE = Context(parametrisation={pairs_count: within + beyond + 1})

# What the steps on places prove; of s and t it says that they are 0 or 1.
INTERLEAVED_PLACES = Context(
    ranges={k: PAIRS, l: PAIRS},
    facts={
        Quotient(2 * k + s, 2): k,
        Remainder(2 * k + s, 2): s,
        Quotient(2 * l + t, 2): l,
        Remainder(2 * l + t, 2): t,
    },
)
HALF_PLACES = Context(
    ranges={k: PAIRS, l: PAIRS},
    facts={
        Remainder(s * pairs_count + k, pairs_count): k,
        Quotient(s * pairs_count + k, pairs_count): s,
        Remainder(t * pairs_count + l, pairs_count): l,
        Quotient(t * pairs_count + l, pairs_count): t,
    },
)


def places(
    name: str, number: Expr, divisor: Expr, quotient: Expr, remainder: Expr, context: Context
) -> tuple[Step, ...]:
    """Quotient and remainder of a place, each by uniqueness of division."""
    why = f"The place is {divisor} · {quotient} + {remainder}, and the remainder {remainder} lies below the divisor."
    return (
        Step(f"{name}: the quotient", Quotient(number, divisor), quotient, why, EUCLIDEAN_DIVISION, context),
        Step(f"{name}: the remainder", Remainder(number, divisor), remainder, why, EUCLIDEAN_DIVISION, context),
    )


PAIR = Context(ranges={k: PAIRS})
MATRIX = Definition(array("R"), matrix_entry, (k, l, s, t))
BLOCK = ImmutableMatrix(2, 2, lambda row, column: MATRIX.name[k, k, row, column])

STORAGE = (
    Step(
        "The entries of the matrix in pair coordinates are those of the blocks",
        BLOCK,
        rotation(m),
        "Put in 0 and 1 for s and t. Where the pairs k and l differ, the entries are 0.",
        prover=TRIGONOMETRY,
        context=PAIR,
        where=(MATRIX,),
    ),
    *places("First of an interleaved pair", 2 * within, Integer(2), within, Integer(0), Context()),
    *places("Second of an interleaved pair", 2 * within + 1, Integer(2), within, Integer(1), Context()),
    *places("First half", within, pairs_count, Integer(0), within, IN_RANGE),
    *places("Second half", pairs_count + within, pairs_count, Integer(1), within, IN_RANGE),
    Step(
        "The interleaved matrix in pair coordinates",
        interleaved_entry(2 * k + s, 2 * l + t),
        MATRIX.name[k, l, s, t],
        "By the steps before, place 2k + s holds component s of pair k, for s = 0 and s = 1.",
        prover=TRIGONOMETRY,
        context=INTERLEAVED_PLACES,
        where=(MATRIX,),
    ),
    Step(
        "The matrix for halves in pair coordinates",
        half_entry(s * pairs_count + k, t * pairs_count + l),
        MATRIX.name[k, l, s, t],
        "Place s p + k holds component s of pair k, for s = 0 and s = 1. The right-hand side is that of the step "
        "before, so the two matrices differ by a permutation of the places only. Every law here holds for both, and "
        "permuting the columns of the query and key matrices turns weights for one into weights for the other.",
        prover=TRIGONOMETRY,
        context=HALF_PLACES,
        where=(MATRIX,),
    ),
    Difference(
        "An interleaved query and a key in halves lose the relative position",
        cos(m) * cos(n),
        cos(m + 1) * cos(n + 1),
        "Take the query and the key (1, 0, 0, 0) and θ_0 = 1. The query turns into (cos m, sin m, 0, 0), the key into "
        "(cos n, 0, sin n, 0). Their inner product is cos 1 cos 2 = −0.22485 at m = 1, n = 2, and "
        "cos 2 cos 3 = 0.41198 at m = 2, n = 3.",
        example=World(symbols={m: 1, n: 2}),
        values=("-0.22485", "0.41198"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="rotary",
    title="Rotary positions enter inner products by their difference only",
    opening=(
        "How do rotary embeddings put positions into attention? They turn pairs of components by angles "
        "proportional to the position, so that an inner product depends on the difference of two positions only, "
        "whichever of the two usual orders stores the pairs."
    ),
    see_also=(
        "sinusoid_relative_position",
        "alibi",
        "inner_products",
    ),
    symbols=(
        Meaning(
            (query, key), "a query and a key before they are turned; the indices are pair and component of the pair"
        ),
        Meaning((QUERY.name, KEY.name), "the query and the key after they are turned; the first index is the position"),
        Meaning((m, n), "the positions of the query and of the key"),
        Meaning((shift,), "a shift of both positions"),
        Meaning((pairs_count,), "how many pairs are turned"),
        Meaning((k, l), "numbers of pairs, from 0 to p − 1"),
        Meaning((s, t), "the components of two pairs, 0 or 1"),
        Meaning((frequency,), "the frequencies: pair k turns by the angle m θ_k at the position m"),
        Meaning((x, z), "two vectors; the indices are pair and component of the pair"),
        Meaning((gradient,), "the gradient of a loss by the turned vector x"),
        Meaning((a, b), "two numbers"),
        Meaning((beyond,), "p − 1 − k, at least 0"),
        Meaning(
            (MATRIX.name,),
            "the rotation as a matrix: row s of pair k, column t of pair l; R_m is that of the position m",
        ),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "2p components turn, in p pairs (x_k,0, x_k,1); others stay and add the same to every inner product.",
        "The embedding turns pair k by the angle m θ_k at the position m.",
        "Positions and frequencies are arbitrary real numbers; θ_k = base^(−k/p) is one choice.",
    ),
    sources=(
        Source(
            "Su et al. 2021, RoFormer, section 3.1",
            comment="the inner product is to be a function of the vectors and of m − n",
        ),
        Source("Su et al. 2021, RoFormer, section 3.2.2", comment="the block-diagonal rotation matrix"),
    ),
    steps=RELATIVE + GROUP + STORAGE,
    remarks=(
        "Turning in the other direction, by −m θ_k, satisfies every step too: the direction is a matter of the "
        "definition.",
    ),
)
