"""Where SymPy silently answers wrongly or not at all, and that the calculus of finite sums does not."""

from __future__ import annotations

import pytest
import sympy
from sympy import IndexedBase, Integer, KroneckerDelta, Sum, Symbol, exp
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.differentiation import differentiate
from veriformer.spec.derivations.expressions import DerivationError, Partial
from veriformer.spec.derivations.formulas import index, size, up_to
from veriformer.spec.derivations.index_sums import canonical, proves_equal

n = size("n")
i, k = index("i"), index("k")
x = IndexedBase("x", real=True)
CONTEXT = Context(ranges={i: up_to(n), k: up_to(n)})


def test_the_derivative_of_a_sum_by_an_entry_named_like_its_index():
    summed = Sum(x[k], (k, 1, n))
    assert sympy.diff(summed, x[k]).doit() != 1
    assert canonical(Partial(summed, x[k]), CONTEXT) == 1


def test_sums_with_different_index_names_are_equal():
    ratio = Sum(exp(x[i]) / Sum(exp(x[k]), (k, 1, n)), (i, 1, n))
    assert sympy.simplify(ratio) != 1
    assert canonical(ratio) == 1


def test_a_sum_of_deltas_is_not_a_case_distinction():
    double = Sum(KroneckerDelta(i, k), (i, 1, n), (k, 1, n))
    assert double.doit().has(sympy.Piecewise)
    assert canonical(double) == n


def test_substitution_into_a_sum_is_not_used_for_renaming():
    product = Sum(x[i] * x[k], (k, 1, n))
    assert product.subs(i, k) == Sum(x[k] ** 2, (k, 1, n))
    assert proves_equal(product, x[i] * Sum(x[k], (k, 1, n)))


def test_chain_rule_through_roots_logarithms_and_waves():
    value = Symbol("v", positive=True)
    for function in (sympy.sqrt, sympy.log, sympy.sin, sympy.cos, sympy.exp):
        ours, theirs = differentiate(function(value**2), value), sympy.diff(function(value**2), value)
        assert sympy.simplify(ours - theirs) == 0


def test_a_function_without_a_rule_is_refused():
    with pytest.raises(DerivationError, match="no rule of differentiation"):
        differentiate(sympy.tan(x[k]), x[k])


def test_an_entry_with_two_indices_needs_both_to_agree():
    table = IndexedBase("A", real=True)
    derivative = differentiate(table[i, k], table[1, 2])
    assert derivative == KroneckerDelta(i, 1) * KroneckerDelta(k, 2)
    assert differentiate(Integer(3), table[1, 2]) == 0
