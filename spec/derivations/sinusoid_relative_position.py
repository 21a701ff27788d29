"""⟨p_i, p_j⟩ = Σ_k cos ω_k(i − j), and moving by Δ is a rotation R(Δ) that does not depend on the position."""

from __future__ import annotations

from sympy import (
    Expr,
    ImmutableMatrix,
    Integer,
    KroneckerDelta,
    MatMul,
    Rational,
    Transpose,
    cos,
    eye,
    sin,
)
from veriformer.spec.derivations.apart import Apart
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import written
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Range, total
from veriformer.spec.derivations.formulas import array, index, real, size
from veriformer.spec.derivations.provers import TRIGONOMETRY

pairs_count = size("m")
k, l = index("k"), index("l")  # noqa: E741
i, j, shift, a, b = real("i"), real("j"), real("Delta"), real("a"), real("b")
whole = index("Delta")
frequency = array("omega")
PAIRS: Range = (Integer(0), pairs_count - 1)
PAIR_INDICES = Context(ranges={k: PAIRS, l: PAIRS})


def inner_product(one: Expr, other: Expr) -> Expr:
    """⟨p_one, p_other⟩: one product of sines and one of cosines for each of the m = d/2 frequencies."""
    return total(
        lambda n: (
            sin(one * frequency[n]) * sin(other * frequency[n]) + cos(one * frequency[n]) * cos(other * frequency[n])
        ),
        "k",
        PAIRS,
    )


def correlation(distance: Expr) -> Expr:
    """G(Δ) = Σ_k cos(ω_k Δ)."""
    return total(lambda n: cos(distance * frequency[n]), "k", PAIRS)


def encoding(position: Expr) -> ImmutableMatrix:
    """The k-th pair (sin ω_k·position, cos ω_k·position) as a column."""
    return ImmutableMatrix([sin(position * frequency[k]), cos(position * frequency[k])])


def rotation(angle_per_frequency: Expr, pair: Expr = k) -> ImmutableMatrix:
    """The k-th block R_k(Δ), which turns the k-th pair by the angle ω_k Δ."""
    angle = angle_per_frequency * frequency[pair]
    return ImmutableMatrix([[cos(angle), sin(angle)], [-sin(angle), cos(angle)]])


def block_product(left: Expr, right: Expr) -> ImmutableMatrix:
    """Entry ((k, s), (l, t)) of R(left)·R(right) for the block-diagonal matrices of size 2m × 2m, s and t as shown."""

    def entry(s: int, t: int) -> Expr:
        def summand(n: Expr) -> Expr:
            one, other = rotation(left), rotation(right, n)
            inner = sum(one[s, u] * other[u, t] for u in range(2))
            return KroneckerDelta(k, n) * KroneckerDelta(n, l) * inner

        return total(summand, "q", PAIRS)

    return ImmutableMatrix(2, 2, entry)


def encoding_product_odd(one: Expr, other: Expr) -> Expr:
    """⟨p_one, p_other⟩ for d = 3: a full pair of frequency 1, and a sine of frequency 1/10 without its cosine.

    The sinusoids have 10000^(−2/3) there, which is so slow that the two inner products differ by 0.00003 only.
    """
    slow = Rational(1, 10)
    return sin(one) * sin(other) + cos(one) * cos(other) + sin(one * slow) * sin(other * slow)


INNER_PRODUCT = (
    Step(
        "The inner product of two positions",
        inner_product(i, j),
        correlation(i - j),
        "In every pair sin α sin β + cos α cos β = cos(α − β), with the angles α = ω_k i and β = ω_k j; sum over the "
        "pairs. The frequencies may be any numbers.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "The inner product does not depend on the sign of i − j",
        written(lambda: correlation(-shift)),
        correlation(shift),
        "The cosine is even. So the inner product is a function of |i − j|.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
    Step(
        "Every encoding has squared norm d/2",
        inner_product(i, i),
        pairs_count,
        "sin² + cos² = 1 for each of the m = d/2 pairs.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Inequality(
        "The inner product is at most d/2",
        pairs_count,
        correlation(shift),
        "1 − cos θ = 2 sin²(θ/2) for every angle θ. The two sides are equal at distance 0.",
        certificate=total(lambda n: 2 * sin(shift * frequency[n] / 2) ** 2, "k", PAIRS),
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
    Inequality(
        "The inner product is at least −d/2",
        correlation(shift),
        -pairs_count,
        "1 + cos θ = 2 cos²(θ/2) for every angle θ.",
        certificate=total(lambda n: 2 * cos(shift * frequency[n] / 2) ** 2, "k", PAIRS),
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
    Step(
        "The squared distance of two positions",
        inner_product(i, i) - 2 * inner_product(i, j) + inner_product(j, j),
        2 * (pairs_count - correlation(i - j)),
        "The squared distance of two vectors is the sum of their squared norms, less twice their inner product.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
)

DISTANCE = 2 * (pairs_count - correlation(shift))


def pair_distance(angle: Expr) -> Expr:
    """The squared distance of two points on a circle of radius 1: 2 (1 − cos angle)."""
    return 2 * (1 - cos(angle))


DISTINCT = (
    Inequality(
        "Two positions are at least as far apart as each of their pairs",
        DISTANCE,
        pair_distance(shift * frequency[l]),
        "Every pair adds 2 (1 − cos ω_k Δ) = 4 sin²(ω_k Δ/2) to the squared distance.",
        certificate=4 * total(lambda n: (1 - KroneckerDelta(n, l)) * sin(shift * frequency[n] / 2) ** 2, "k", PAIRS),
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
    Apart(
        "Different positions have different encodings",
        pair_distance(whole),
        Integer(0),
        "The first pair has the frequency ω_0 = 1. 1 − cos Δ is 0 at multiples of 2π only, and no whole number but 0 "
        "is one: every whole position has an encoding of its own, beyond 10000 · 2π too.",
        variable=whole,
        optional=True,
    ),
    Difference(
        "Some positions come close in the first pair",
        pair_distance(whole),
        Integer(0),
        "710 is nearly 113 · 2π: there the first pairs are 0.00006 apart, squared 3.6·10⁻⁹. The other pairs lie "
        "far apart.",
        example=World(symbols={whole: 710}),
        values=("0.0000000036", "0"),
        optional=True,
    ),
)

ROTATION = (
    Step(
        "Moving by Δ rotates every pair",
        encoding(i + shift),
        MatMul(rotation(shift), encoding(i)),
        "The addition theorems of sine and cosine. R(Δ) does not contain the position i.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "The rotation is orthogonal",
        MatMul(Transpose(rotation(a)), rotation(a)),
        ImmutableMatrix(eye(2)),
        "Its columns have norm 1 and are perpendicular.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
    ),
    Step(
        "A rotation by a after one by b is a rotation by a + b",
        MatMul(rotation(a), rotation(b)),
        rotation(a + b),
        "Moving by b and then by a is moving by a + b.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
    Step(
        "The whole matrix of size d × d composes likewise",
        block_product(a, b),
        KroneckerDelta(k, l) * rotation(a + b),
        "The whole matrix consists of the blocks R_k on its diagonal and of 0 elsewhere. Shown is the block in row k "
        "and column l of the product: 0 unless k = l.",
        prover=TRIGONOMETRY,
        context=PAIR_INDICES,
        optional=True,
    ),
)

ODD_WIDTH = (
    Difference(
        "With an odd width the inner product depends on the positions",
        encoding_product_odd(i, j),
        encoding_product_odd(i + 1, j + 1),
        "With d = 3 the last sine has no cosine, and sin(ω_1 i) sin(ω_1 j) is not a function of i − j. Any frequencies "
        "show it; here the full pair has the frequency 1 and the last sine 1/10, not 10000^(−2/3) ≈ 1/464, so that the "
        "difference is seen at small positions: (0, 5) and (1, 6) are equally far apart, yet their inner products "
        "differ.",
        example=World(symbols={i: 0, j: 5}),
        values=("0.28366", "0.34003"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="sinusoid_relative_position",
    title="The inner product of sinusoidal positions depends on their distance only",
    opening=(
        "How do the sinusoidal encodings of two positions tell how far apart the positions are? Their inner product "
        "is a function of the distance alone, and a shift of a position is a fixed rotation, for which sinusoids were "
        "chosen: that a model learns from it to attend by relative positions is a hypothesis of their authors and not "
        "proved here."
    ),
    see_also=(
        "rotary",
        "permutation",
    ),
    symbols=(
        Meaning((i, j), "two positions"),
        Meaning((shift,), "a distance of two positions"),
        Meaning((a, b), "two distances"),
        Meaning((pairs_count,), "how many pairs of components an encoding has, half of its width d"),
        Meaning((k, l, index("q")), "numbers of pairs, from 0 to m − 1"),
        Meaning((frequency,), "the frequencies: pair k is (sin ω_k i, cos ω_k i) at the position i"),
        Meaning((real("R"),), "the rotation: R_k(Δ) turns pair k by the angle ω_k Δ, and R(Δ) turns all pairs"),
        Meaning((real("d"),), "the width of an encoding, 2m"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "d = 2m is even: the components come in m pairs (sin ω_k·pos, cos ω_k·pos), in whatever order they are stored.",
        "i and j are positions, Δ is their distance. Positions and frequencies are arbitrary real numbers; ω_k = "
        "10000^(−2k/d) is one choice.",
    ),
    sources=(
        Source(
            "Vaswani et al. 2017, Attention Is All You Need, section 3.5",
            "for any fixed offset k, PE_{pos+k} can be represented as a linear function of PE_pos",
        ),
        Source(
            "Seed document 004, Understanding the Transformer, section Positional Encoding",
            "is a function of $\\lvert i - j\\rvert$",
        ),
        Source(
            "Seed document 001, section Sinusoidal Positional Encoding",
            "Relative positions can be computed with linear transformations",
        ),
    ),
    steps=INNER_PRODUCT + DISTINCT + ROTATION + ODD_WIDTH,
    remarks=(
        "The inner product does not decrease monotonically with the distance.",
        "Queries and keys are projected: their inner product is in general no longer a function of i − j alone.",
    ),
)
