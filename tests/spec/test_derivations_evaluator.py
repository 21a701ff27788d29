"""The evaluator against plain Python, and the other independent pieces: duals, intervals, moments, signs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import mpmath
import pytest
import sympy
from sympy import Function, Integer, KroneckerDelta, Rational, Symbol, cos, exp, log, sin, sqrt
from veriformer.spec.derivations.arithmetic import INTERVALS
from veriformer.spec.derivations.context import Block, Context, RandomFamily
from veriformer.spec.derivations.evaluator import Evaluator, World
from veriformer.spec.derivations.expressions import (
    DerivationError,
    Expectation,
    Partial,
    Quotient,
    Remainder,
    Variance,
    total,
)
from veriformer.spec.derivations.formulas import (
    array,
    attention,
    entry_of,
    index,
    positive,
    scaled_score,
    size,
    up_to,
)
from veriformer.spec.derivations.moments import expectation, moment
from veriformer.spec.derivations.nonnegativity import manifestly_nonnegative
from veriformer.spec.derivations.sampling import WorldSampler

n, width = size("n"), size("d")
i, j = index("i"), index("j")
x, y = array("x"), array("y")
query, key, value = array("Q"), array("K"), array("V")


def test_attention_agrees_with_plain_loops():
    random = Random(3)
    rows, keys, inner = 2, 3, 2
    q, k, v = ([[random.uniform(-1, 1) for _ in range(inner)] for _ in range(count)] for count in (rows, keys, keys))
    arrays = {
        (base, (r + 1, c + 1)): table[r][c]
        for base, table in ((query, q), (key, k), (value, v))
        for r in range(len(table))
        for c in range(inner)
    }
    formula = attention(scaled_score(entry_of(query), entry_of(key), width), entry_of(value), up_to(n))(i, j)
    world = World(symbols={n: keys, width: inner, i: 2, j: 1}, arrays=arrays)
    logits = [sum(a * b for a, b in zip(q[1], k[m], strict=True)) / math.sqrt(inner) for m in range(keys)]
    terms = [math.exp(logit) for logit in logits]
    expected = sum(t * v[m][0] for m, t in enumerate(terms)) / sum(terms)
    assert Evaluator(world).value(formula) == pytest.approx(expected, rel=1e-14)


def test_dual_numbers_give_the_derivative():
    formula = exp(2 * x[1]) * sin(x[1]) / sqrt(1 + x[1] ** 2) + log(x[1]) * cos(x[2])
    at = 0.7
    world = World(arrays={(x, (1,)): at, (x, (2,)): 0.3})
    step = 1e-6

    def plain(t: float) -> float:
        return math.exp(2 * t) * math.sin(t) / math.sqrt(1 + t * t) + math.log(t) * math.cos(0.3)

    slope = Evaluator(world).value(Partial(formula, x[1]))
    assert slope == pytest.approx((plain(at + step) - plain(at - step)) / (2 * step), rel=1e-8)
    assert world.arrays[(x, (1,))] == at


def test_expectations_enumerate_the_law():
    law = ((-1.0, 0.75), (3.0, 0.25))
    world = World(symbols={n: 2}, laws={x: law})
    squared = total(lambda m: x[m] ** 2, "i", up_to(n))
    outcomes = list(itertools.product(law, repeat=2))
    mean = sum(a[1] * b[1] * (a[0] ** 2 + b[0] ** 2) for a, b in outcomes)
    second = sum(a[1] * b[1] * (a[0] ** 2 + b[0] ** 2) ** 2 for a, b in outcomes)
    assert Evaluator(world).value(Expectation(squared)) == pytest.approx(mean)
    assert Evaluator(world).value(Variance(squared)) == pytest.approx(second - mean**2)


def test_intervals_enclose_the_value():
    symbol = Symbol("t")
    world = World(symbols={symbol: Fraction(1, 3)})
    enclosure = mpmath.iv.mpf(Evaluator(world, INTERVALS).value(exp(symbol) ** 2 + sqrt(symbol) * Rational(1, 7)))
    with mpmath.workdps(40):
        third = mpmath.mpf(1) / 3
        exact = mpmath.exp(third) ** 2 + mpmath.sqrt(third) / 7
        assert enclosure.a <= exact <= enclosure.b
    assert float(enclosure.delta) < 1e-13


def test_a_permutation_has_no_image_outside_its_range():
    pi = Function("pi")
    with pytest.raises(DerivationError, match="not for 3"):
        Evaluator(World(permutations={pi: {1: 2, 2: 1}})).value(pi(Integer(3)))


def test_integer_division_and_delta_and_permutation():
    pi = Function("pi", integer=True)
    world = World(symbols={i: 7, j: 3}, permutations={pi: {1: 2, 2: 1}})
    evaluator = Evaluator(world)
    assert evaluator.value(Quotient(i, j)) == 2
    assert evaluator.value(Remainder(i, j)) == 1
    assert evaluator.value(KroneckerDelta(i, j)) == 0
    assert evaluator.value(pi(Integer(2))) == 1


def test_what_has_no_meaning_is_refused():
    with pytest.raises(DerivationError, match="no meaning"):
        Evaluator(World(symbols={i: 1})).value(sympy.tan(i))
    with pytest.raises(DerivationError, match="no value is given for i"):
        Evaluator(World()).value(i)


def test_sampled_worlds_obey_their_context():
    context = Context(
        ranges={i: up_to(n), j: up_to(n)},
        indicators=frozenset({y}),
        facts={KroneckerDelta(i, j): Integer(0), x[j]: Integer(5)},
        blocks=(Block(query, (up_to(1), None), 3),),
    )
    sampler = WorldSampler([x[i] + y[j] + query[1, j]], context, Random(0))
    for _ in range(30):
        world = sampler.draw()
        evaluator = Evaluator(world)
        assert 1 <= world.symbols[i] <= world.symbols[n]
        assert world.symbols[i] != world.symbols[j]
        assert evaluator.value(x[j]) == 5
        assert evaluator.value(y[i]) in (0, 1)
        assert evaluator.value(query[1, j]) == 3


def test_moments_of_a_family_agree_with_a_law():
    law = ((-1.0, 0.5), (0.5, 0.2), (3.0, 0.3))
    mean = sum(o * w for o, w in law)
    deviation = math.sqrt(sum((o - mean) ** 2 * w for o, w in law))
    central = {order: sum(((o - mean) / deviation) ** order * w for o, w in law) for order in (3, 4)}
    mu, sigma, skew, kurt = sympy.symbols("mu sigma gamma kappa")
    family = RandomFamily(x, mu, sigma, skew, kurt)
    values = {mu: mean, sigma: deviation, skew: central[3], kurt: central[4]}
    for power in range(5):
        assert float(moment(family, power).subs(values)) == pytest.approx(sum(o**power * w for o, w in law))


def test_moment_algebra_takes_polynomials_with_declared_moments_only():
    context = Context(families=(RandomFamily(x, Integer(0), positive("s")),))
    with pytest.raises(DerivationError, match="polynomials"):
        expectation(exp(x[i]), context)
    with pytest.raises(DerivationError, match="moment 4"):
        expectation(x[i] ** 4, context)


def test_a_zero_mean_needs_no_moments_in_between():
    context = Context(families=(RandomFamily(x, Integer(0), positive("s"), kurtosis=positive("c")),))
    assert expectation(x[i] ** 4, context) == positive("c") * positive("s") ** 4


def test_squares_of_different_components_are_independent():
    context = Context(families=(RandomFamily(x, Integer(0), positive("s"), kurtosis=positive("c")),))
    same = KroneckerDelta(i, j)
    expected = (same * positive("c") + 1 - same) * positive("s") ** 4
    assert sympy.expand(expectation(x[i] ** 2 * x[j] ** 2, context) - expected) == 0


def test_independence_is_between_components_not_within_one():
    context = Context(families=(RandomFamily(x, Integer(0), positive("s")),))
    assert sympy.expand(expectation(x[i] * x[j], context) - KroneckerDelta(i, j) * positive("s") ** 2) == 0
    assert expectation(x[1] * x[2], context) == 0
    assert expectation(x[1] * x[1], context) == positive("s") ** 2


t, real = Symbol("t", nonnegative=True), Symbol("r", real=True)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (t, True),
        (real, False),
        (real**2, True),
        (real**3, False),
        (exp(real), True),
        (Symbol("z") ** 2, False),
        (t * exp(real) + 2, True),
        (t - 1, False),
        (1 - exp(-t), True),
        (1 - exp(t), False),
        (1 - exp(-real), False),
        (sin(real) ** 2, True),
        (sin(real), False),
        (total(lambda m: x[m] ** 2, "i", up_to(n)), True),
        (total(lambda m: x[m], "i", up_to(n)), False),
        (-(t**2), False),
    ],
)
def test_signs_are_read_off_the_form(expression, expected):
    assert manifestly_nonnegative(expression) is expected
