"""False steps are rejected and reported precisely; provers that prove everything are caught."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
import sympy
from sympy import Integer, KroneckerDelta, Symbol, cos, exp, oo, sin
from veriformer.spec.derivations import derivation_ids, load_derivation
from veriformer.spec.derivations.apart import Apart
from veriformer.spec.derivations.context import Block, Context, RandomFamily
from veriformer.spec.derivations.derivation import (
    Derivation,
    Difference,
    Inequality,
    Limit,
    Scope,
    Source,
    Step,
)
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Partial, Quotient, Remainder, Variance, total
from veriformer.spec.derivations.formulas import array, entry_of, index, positive, real, size, up_to, weights
from veriformer.spec.derivations.provers import EUCLIDEAN_DIVISION, MOMENT_ALGEBRA, TRIGONOMETRY

n = size("n")
i, k = index("i"), index("k")
x, y = array("x"), array("y")
angle, other_angle = real("a"), real("b")
ROW = up_to(n)
CONTEXT = Context(ranges={i: ROW, k: ROW})
p = weights(entry_of(x), ROW)
FAMILIES = Context(
    ranges={i: ROW},
    families=(RandomFamily(x, Integer(0), positive("s")), RandomFamily(y, Integer(0), positive("s"))),
)
natural, slack = (Symbol(name, integer=True, nonnegative=True) for name in "ht")
FITS = Context(parametrisation={n: natural + 1 + slack})


@dataclass(frozen=True)
class AlwaysYes:
    """A prover that proves everything."""

    name: str = "always yes"
    rests_on: str = "nothing"

    def proves(self, left, right, normaliser):
        return True


FALSE_EQUALITIES = {
    "index sums": Step("false", Partial(p(i), x[k]), p(i) * (KroneckerDelta(i, k) + p(k)), "", context=CONTEXT),
    "trigonometry": Step(
        "false",
        cos(angle - other_angle),
        cos(angle) * cos(other_angle) - sin(angle) * sin(other_angle),
        "",
        TRIGONOMETRY,
    ),
    "moment algebra": Step(
        "false",
        Variance(total(lambda m: x[m] * y[m], "i", ROW)),
        n**2 * positive("s") ** 4,
        "",
        MOMENT_ALGEBRA,
        FAMILIES,
    ),
    "quotient": Step("false", Quotient(natural, n), Integer(1), "", EUCLIDEAN_DIVISION, FITS),
    "remainder": Step("false", Remainder(natural, n), Integer(0), "", EUCLIDEAN_DIVISION, FITS),
}


@pytest.mark.parametrize("step", FALSE_EQUALITIES.values(), ids=FALSE_EQUALITIES)
def test_false_equality_is_neither_proved_nor_confirmed(step):
    result = step.check()
    assert not result.proved
    assert not result.spot_checked
    assert not result.holds


def test_a_prover_that_proves_everything_is_caught():
    true_step = Step("true", total(p, "i", ROW), Integer(1), "", AlwaysYes(), CONTEXT)
    result = true_step.check()
    assert result.proved
    assert result.spot_checked
    assert not result.not_vacuous
    assert "also accepts" in result.report


def test_a_true_statement_that_is_not_proved_is_reported_as_such():
    step = Step("unproved", sin(angle) ** 2 + cos(angle) ** 2, Integer(1), "")
    result = step.check()
    assert (result.proved, result.spot_checked) == (False, True)


def test_idle_hypotheses_are_caught():
    idle = replace(CONTEXT, facts={KroneckerDelta(i, k): Integer(0)})
    result = Step("idle", total(p, "i", ROW), Integer(1), "", context=idle).check()
    assert result.proved
    assert "idle" in result.vacuity.detail


def test_a_constraint_that_is_stronger_than_needed_is_caught():
    tight = Step("below", Quotient(natural, n), Integer(0), "", EUCLIDEAN_DIVISION, FITS)
    assert tight.check().holds
    narrow = replace(tight, context=Context(parametrisation={n: natural + 2 + slack})).check()
    assert narrow.proved
    assert "idle" in narrow.vacuity.detail


def test_an_array_of_0_and_1_is_nowhere_2():
    with pytest.raises(ValueError, match="cannot be 2"):
        Context(indicators=frozenset({x}), blocks=(Block(x, (ROW,), 2),))


def test_only_0_can_be_what_a_distance_is_apart_from():
    whole = index("a")
    assert Apart("apart", 1 - cos(whole), Integer(0), "", variable=whole).check().holds
    assert not Apart("apart", 1 - cos(whole), Integer(2), "", variable=whole).check().proved


def test_the_value_on_the_way_to_a_limit_is_checked():
    step = Limit("way", exp(-angle), Integer(0), "", variable=angle, point=oo, example=World(symbols={angle: 1}))
    assert step.check().holds
    assert replace(step, value="0.3679").check().holds
    assert "at a = 1 the left side is 0.3679" in replace(step, value="0.3679").method
    wrong = replace(step, left=2 * exp(-angle), value="0.3679").check()
    assert "is not 0.3679" in wrong.proof.detail


class Raising(AlwaysYes):
    """A prover that raises what no check expects."""

    def proves(self, left, right, normaliser):
        raise NotImplementedError("the sign is not known")


def test_whatever_is_raised_in_a_check_is_a_failure():
    result = Step("raising", total(p, "i", ROW), Integer(1), "", Raising()).check()
    assert "NotImplementedError: the sign is not known" in result.proof.detail


def test_contradictory_hypotheses_are_reported():
    impossible = replace(CONTEXT, facts={KroneckerDelta(i, i + n): Integer(1)})
    result = Step("impossible", p(i), p(i + n), "", context=impossible).check()
    assert "contradict" in result.spot_check.detail


@pytest.mark.parametrize(
    ("certificate", "detail"),
    [(2 - 2 * cos(angle), "does not prove"), (1 - cos(angle), "not non-negative by its form")],
)
def test_false_or_unclear_certificates_are_rejected(certificate, detail):
    step = Inequality("false", Integer(1), cos(angle), "", prover=TRIGONOMETRY, certificate=certificate)
    assert detail in step.check().proof.detail


def test_false_inequality_is_refuted_by_evaluation():
    step = Inequality("false", cos(angle), Integer(1), "", prover=TRIGONOMETRY, certificate=-2 * sin(angle / 2) ** 2)
    result = step.check()
    assert not result.proved
    assert not result.spot_checked


def test_equal_values_are_no_exhibit():
    example = World(symbols={angle: 1, other_angle: 2})
    same = Difference("false", exp(angle) * exp(other_angle), exp(angle + other_angle), "", example=example)
    result = same.check()
    assert not result.proved
    assert "may be equal" in result.report


def test_an_incomplete_example_is_reported():
    result = Difference("incomplete", x[1], x[2], "", example=World(arrays={(x, (1,)): 1})).check()
    assert "no value for x[2]" in result.proof.detail


@pytest.mark.parametrize("claimed", [Integer(1), oo])
def test_false_limit_is_rejected(claimed):
    step = Limit("false", exp(-positive("t")), claimed, "", variable=positive("t"), point=oo)
    result = step.check()
    assert not result.proved
    assert not result.spot_checked


def test_a_false_derivation_names_the_step_and_the_checks_that_failed():
    wrong = FALSE_EQUALITIES["index sums"]
    right = Step("rows sum to 1", total(p, "i", ROW), Integer(1), "", context=CONTEXT)
    derivation = Derivation("wrong", "Wrong", Scope.SYMBOLIC, (), (Source("nowhere"),), (right, wrong))
    result = derivation.check()
    assert not result.holds
    assert [failure.step for failure in result.failures] == ["false"]
    assert "1 of 2 steps hold" in result.report
    assert "proof failed" in result.report
    assert "spot check failed: left is" in result.report
    assert "✓ rows sum to 1" in result.report


def test_checking_twice_gives_the_same_result_and_leaves_examples_alone():
    derivation = load_derivation("variance_scaling")
    exhibit = derivation.steps[-1]
    before = exhibit.hypotheses
    first, second = exhibit.check(), exhibit.check()
    assert (first.proof, first.spot_check, first.vacuity) == (second.proof, second.spot_check, second.vacuity)
    assert exhibit.hypotheses == before


# One wrong right-hand side for each of a number of steps: mistakes that people make.
MISTAKES = {
    "the Jacobian with a plus": ("softmax", "The Jacobian", p(i) * (KroneckerDelta(i, k) + p(k))),
    "variance d² σ⁴": ("variance_scaling", "Variance of the inner product, zero means", n**2),
    "unmasked keys kept": ("masking", "A masked key has weight 0", Integer(1)),
    "alignments always agree": ("causality", "The two alignments differ by S − L", Integer(0)),
    "squared norm d": ("sinusoid_relative_position", "Every encoding has squared norm d/2", 2 * size("m")),
}


@pytest.mark.parametrize(("derivation_id", "name", "wrong"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_known_steps_are_found(derivation_id, name, wrong):
    step = next(step for step in load_derivation(derivation_id).steps if step.name == name)
    result = replace(step, right=wrong).check()
    assert not result.proved
    assert not result.spot_checked


@pytest.mark.parametrize(
    ("expression", "proved"),
    [
        (1 - cos(k), True),
        (sin(k / 2) ** 2, True),
        (1 - cos(2 * sympy.pi * k), False),  # 0 at every whole number
        (cos(k) - cos(3), False),  # 0 at 3
        (cos(k), True),
    ],
)
def test_what_is_never_zero_on_whole_numbers(expression, proved):
    step = Apart("apart", expression, Integer(0), "", variable=k)
    assert step.check().proved is proved


def test_values_that_are_said_are_checked():
    scaling = load_derivation("variance_scaling")
    exhibit = scaling.steps[-1]
    assert exhibit.values == ("24", "18")
    for wrong in (("24", "17"), ("25", "18")):
        assert "is not" in replace(exhibit, values=wrong).check().proof.detail


def test_a_number_without_decimals_is_that_number_and_no_rounded_one():
    half = Difference("half", exp(angle) / 2, Integer(0), "", example=World(symbols={angle: 0}), values=("0.5", "0"))
    assert half.check().holds
    for wrong in ("1", "0"):
        assert "is not" in replace(half, values=(wrong, "0")).check().proof.detail


def test_what_a_difference_says_in_decimals_is_one_of_its_values():
    found = []
    for name in derivation_ids():
        for step in load_derivation(name).steps:
            if isinstance(step, Difference):
                assert len(step.values) == 2, (name, step.name)
                said = re.findall(r"[−-]?\d+\.\d{4}(?!\d)", step.why)
                assert {number.replace("−", "-") for number in said} <= set(step.values), (name, step.name)
                found += said
    assert found
