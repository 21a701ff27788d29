"""The normal form of finite sums against explicit expansion in exact arithmetic, and its known traps."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest
import sympy
from sympy import Function, IndexedBase, Integer, KroneckerDelta, Rational, Sum, exp
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.expressions import DerivationError, Quotient, Remainder, total
from veriformer.spec.derivations.formulas import index, size, up_to
from veriformer.spec.derivations.index_sums import canonical, proves_equal

n, m = size("n"), size("m")
i, j, k, free = index("i"), index("j"), index("k"), index("a")
A, B, x, y = (IndexedBase(name) for name in "ABxy")
ROW = up_to(n)
CONTEXT = Context(ranges={free: ROW})


def random_tree(random: Random, depth: int, names: list[str]) -> tuple:
    """A random expression as a tree, independent of SymPy."""
    choice = random.random()
    if depth == 0 or choice < 0.3:
        one, two = random.choice(names), random.choice(names)
        return random.choice(
            [
                ("A", one, two),
                ("B", two, one),
                ("x", one),
                ("y", two),
                ("delta", one, two),
                ("number", random.randint(-2, 3)),
            ]
        )
    if choice < 0.75:
        operation = "add" if choice < 0.5 else "multiply"
        return (operation, random_tree(random, depth - 1, names), random_tree(random, depth - 1, names))
    if choice < 0.82:
        return ("reciprocal", random.choice(names))
    bound = f"w{len(names)}_{random.randint(0, 10**6)}"
    return ("sum", bound, random_tree(random, depth - 1, [*names, bound]))


def as_sympy(tree: tuple):
    kind, *parts = tree
    if kind in ("A", "B", "x", "y"):
        return {"A": A, "B": B, "x": x, "y": y}[kind][tuple(index(name) for name in parts)]
    if kind == "delta":
        return KroneckerDelta(*(index(name) for name in parts))
    if kind == "number":
        return Integer(parts[0])
    if kind == "add":
        return as_sympy(parts[0]) + as_sympy(parts[1])
    if kind == "multiply":
        return as_sympy(parts[0]) * as_sympy(parts[1])
    if kind == "reciprocal":
        return 1 / (3 + Sum(x[i] ** 2 + A[i, index(parts[0])] ** 2, (i, 1, n)))
    return Sum(as_sympy(parts[1]), (index(parts[0]), 1, n))


def exact_value(tree: tuple, length: int, at: dict[str, int], entry) -> Fraction:
    kind, *parts = tree
    if kind in ("A", "B", "x", "y"):
        return entry(kind, tuple(at[name] for name in parts))
    if kind == "delta":
        return Fraction(at[parts[0]] == at[parts[1]])
    if kind == "number":
        return Fraction(parts[0])
    if kind in ("add", "multiply"):
        one, two = (exact_value(part, length, at, entry) for part in parts)
        return one + two if kind == "add" else one * two
    if kind == "reciprocal":
        squares = [entry("x", (r,)) ** 2 + entry("A", (r, at[parts[0]])) ** 2 for r in range(1, length + 1)]
        return 1 / (3 + sum(squares, Fraction(0)))
    values = [exact_value(parts[1], length, {**at, parts[0]: r}, entry) for r in range(1, length + 1)]
    return sum(values, Fraction(0))


def entry(name: str, indices: tuple[int, ...]) -> Fraction:
    """A fixed pseudo-random fraction for every entry."""
    random = Random(f"{name}{indices}")
    return Fraction(random.randint(1, 9), random.randint(1, 5))


def expanded_value(expression, length: int) -> Fraction:
    """The value of a SymPy expression with its sums written out."""
    expression = expression.xreplace({n: Integer(length), free: Integer(1)}).doit()
    entries = {
        atom: Rational(str(entry(str(atom.base), tuple(int(place) for place in atom.indices))))
        for atom in expression.atoms(sympy.Indexed)
    }
    value = sympy.nsimplify(expression.xreplace(entries))
    return Fraction(int(value.p), int(value.q))


@pytest.mark.parametrize("seed", range(100))
def test_normal_form_keeps_the_value(seed):
    tree = random_tree(Random(seed), 4, ["a"])
    normal = canonical(as_sympy(tree), CONTEXT)
    for length in (1, 2, 3):
        assert expanded_value(normal, length) == exact_value(tree, length, {"a": 1}, entry)


@pytest.mark.parametrize("seed", range(100, 160))
def test_normal_form_is_idempotent(seed):
    normal = canonical(as_sympy(random_tree(Random(seed), 4, ["a"])), CONTEXT)
    assert sympy.expand(canonical(normal, CONTEXT) - normal) == 0


@pytest.mark.parametrize("seed", range(160, 200))
def test_different_values_are_never_proved_equal(seed):
    random = Random(seed)
    one, two = (random_tree(random, 3, ["a"]) for _ in range(2))
    values = [[exact_value(tree, length, {"a": 1}, entry) for length in (1, 2, 3)] for tree in (one, two)]
    if values[0] != values[1]:
        assert not proves_equal(as_sympy(one), as_sympy(two), CONTEXT)


def test_renaming_a_bound_index_is_no_change():
    nested = Sum(1 / Sum(A[i, j], (j, 1, n)), (i, 1, n))
    assert proves_equal(nested, Sum(1 / Sum(A[k, i], (i, 1, n)), (k, 1, n)))


@pytest.mark.parametrize(
    "other",
    [Sum(1 / Sum(A[i, i], (i, 1, n)), (j, 1, n)), Sum(1 / Sum(A[j, i], (j, 1, n)), (i, 1, n))],
)
def test_nested_indices_are_not_captured(other):
    assert not proves_equal(Sum(1 / Sum(A[i, j], (j, 1, n)), (i, 1, n)), other)


def test_the_same_name_bound_twice_means_two_indices():
    assert proves_equal(Sum(x[i], (i, 1, n)) * Sum(y[i], (i, 1, n)), Sum(x[i] * y[j], (i, 1, n), (j, 1, n)))
    assert not proves_equal(Sum(x[i], (i, 1, n)) * Sum(y[i], (i, 1, n)), Sum(x[i] * y[i], (i, 1, n)))


def test_a_fact_about_a_free_index_does_not_reach_a_bound_one_of_the_same_name():
    given = Context(ranges={k: ROW}, facts={x[k]: Integer(0)})
    assert canonical(x[k], given) == 0
    assert not proves_equal(Sum(x[k], (k, 1, n)), Integer(0), given)


@pytest.mark.parametrize(
    "dependent",
    [
        Sum(Sum(x[j], (j, 1, i)), (i, 1, n)),
        Sum(x[j], (j, 1, i), (i, 1, n)),
        Sum(y[i] * Sum(x[j], (j, 1, i)), (i, 1, n)),
    ],
)
def test_dependent_ranges_are_rejected(dependent):
    with pytest.raises(DerivationError, match="range"):
        canonical(dependent)


def test_a_delta_contracts_only_within_the_range():
    assert proves_equal(Sum(KroneckerDelta(i, free) * x[i], (i, 1, n)), x[free], CONTEXT)
    assert not proves_equal(Sum(KroneckerDelta(i, free) * x[i], (i, 1, m)), x[free], CONTEXT)
    assert not proves_equal(Sum(KroneckerDelta(i, k) * x[i], (i, 1, n)), x[k], CONTEXT)


def test_a_bijection_reindexes_only_its_own_range_and_only_throughout():
    pi = Function("pi", integer=True)
    permuted = Context(bijections={pi: ROW})
    assert proves_equal(Sum(x[pi(j)], (j, 1, n)), Sum(x[j], (j, 1, n)), permuted)
    assert not proves_equal(Sum(x[pi(j)], (j, 1, m)), Sum(x[j], (j, 1, m)), permuted)
    assert not proves_equal(Sum(x[pi(j)] * y[j], (j, 1, n)), Sum(x[j] * y[j], (j, 1, n)), permuted)
    assert not proves_equal(Sum(x[pi(j)], (j, 1, n)), Sum(x[j], (j, 1, n)))


def test_a_split_range_is_the_sum_of_its_parts():
    whole, first, second = up_to(n + m), up_to(n), (n + 1, n + m)
    split = Context(splits={whole: n})
    assert proves_equal(Sum(x[j], (j, *whole)), Sum(x[j], (j, *first)) + Sum(x[j], (j, *second)), split)
    assert not proves_equal(Sum(x[j], (j, *whole)), Sum(x[j], (j, *first)), split)


def test_a_block_is_constant_only_inside_its_ranges():
    second = (n + 1, n + m)
    given = Context(blocks=(Block(x, (second,), 0),))
    assert proves_equal(Sum(x[j] * y[j], (j, *second)), Integer(0), given)
    assert not proves_equal(Sum(x[j] * y[j], (j, 1, n)), Integer(0), given)
    assert not proves_equal(Sum(y[j], (j, *second)), Integer(0), given)


def test_a_flat_index_is_a_pair_only_where_nothing_else_of_it_is_used():
    flat = (Integer(0), n * m - 1)
    pairs = Context(pairings={flat: (n, m)})
    left = Sum(A[Quotient(j, m), Remainder(j, m)], (j, *flat))
    assert proves_equal(left, Sum(A[i, k], (i, 0, n - 1), (k, 0, m - 1)), pairs)
    assert not proves_equal(left, Sum(A[k, i], (i, 0, n - 1), (k, 0, m - 1)), pairs)
    mixed = Sum(x[j] * y[Quotient(j, m)], (j, *flat))
    assert proves_equal(mixed, mixed.xreplace({j: k}), pairs)


def test_indicators_are_idempotent_and_other_arrays_are_not():
    assert proves_equal(x[i] ** 3, x[i], Context(indicators=frozenset({x})))
    assert not proves_equal(x[i] ** 2, x[i])


def test_an_exponential_of_a_delta_is_two_valued():
    assert proves_equal(exp(y[i] * KroneckerDelta(i, k)), 1 + (exp(y[i]) - 1) * KroneckerDelta(i, k))


def test_square_roots_are_adjoined():
    root = sympy.sqrt(Sum(x[i], (i, 1, n)) + 1)
    assert proves_equal(1 / root, root / (Sum(x[j], (j, 1, n)) + 1))
    assert not proves_equal(1 / root, root / (Sum(x[j], (j, 1, n)) + 2))
    assert proves_equal(1 / (1 + root), (root - 1) / Sum(x[j], (j, 1, n)))
    assert not proves_equal(1 / (1 + root), (root + 1) / Sum(x[j], (j, 1, n)))


def test_a_sum_is_written_without_capture():
    inner = total(lambda c: x[c], "j", ROW)
    outer = total(lambda c: inner * y[c] + x[j], "j", ROW)
    assert proves_equal(outer, Sum(x[k], (k, 1, n)) * Sum(y[k], (k, 1, n)) + n * x[j])


def test_the_number_of_terms_is_the_length():
    assert canonical(Sum(Integer(1), (i, n + 1, n + m))) == m
    assert math.prod([2, 3]) == canonical(Sum(Integer(2), (i, 1, 3)))
