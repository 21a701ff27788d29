"""What is shown of a step is what is proved: no formula stands beside it, and what is x = x says so."""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import fields, replace
from random import Random

import pytest
import sympy
from sympy import Integer, Sum, Symbol, cos, exp
from veriformer.spec.derivations import derivation_ids, load_derivation, render_markdown, render_text
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.definitions import Definition, evaluated, written
from veriformer.spec.derivations.denominators import nonzero_in_words
from veriformer.spec.derivations.derivation import Derivation, Difference, Inequality, Limit, Step
from veriformer.spec.derivations.evaluator import Evaluator
from veriformer.spec.derivations.expressions import DerivationError, Partial, Quotient, Remainder, entries, total
from veriformer.spec.derivations.formulas import array, index, real, size, up_to
from veriformer.spec.derivations.guard import OutOfTimeError, processor_limit
from veriformer.spec.derivations.printing import as_latex, in_words
from veriformer.spec.derivations.rendering import definition_latex, step_latex
from veriformer.spec.derivations.sampling import WorldSampler

n, i, k = size("n"), index("i"), index("k")
x, p = array("x"), array("p")
SQUARE = Definition(p, lambda place: x[place] ** 2, (i,))
STRANGER = Symbol("stranger")


@pytest.fixture(scope="module", params=derivation_ids())
def derivation(request: pytest.FixtureRequest) -> Derivation:
    return load_derivation(request.param)


def changed(side):
    if isinstance(side, sympy.MatrixBase | sympy.MatrixExpr):
        return sympy.ImmutableMatrix(sympy.Matrix(side)) * STRANGER
    return sympy.Add(side, STRANGER, evaluate=False)


def test_no_step_has_a_formula_beside_its_sides() -> None:
    allowed = {"name", "left", "right", "why", "prover", "context", "where", "optional"}
    extra = {"certificate", "example", "values", "value", "variable", "point"}
    for kind in (Step, Difference, Inequality, Limit):
        assert {field.name for field in fields(kind)} <= allowed | extra


def test_every_formula_is_printed_from_the_sides_that_are_proved(derivation) -> None:
    for step in derivation.steps:
        shown = step_latex(step)
        assert all(as_latex(side, step.as_written) in shown for side in (step.left, step.right))
        for side in ("left", "right"):
            other = replace(step, **{side: changed(getattr(step, side))})
            assert "stranger" in step_latex(other)
            assert other.proved_left != step.proved_left or other.proved_right != step.proved_right


def test_names_are_replaced_by_what_is_shown_of_them(derivation) -> None:
    page = render_markdown(derivation)
    for step in derivation.steps:
        used = [*step.written_entries(), *(definition.right for definition in step.where)]
        for definition in step.where:
            assert any(each.has(definition.name) for each in used), f"{step.name}: {definition.name} is idle"
            assert definition_latex(definition) in page
            assert not any(entry.has(definition.name) for entry in step.proved_entries())


def test_what_is_written_and_what_is_proved_have_the_same_values(derivation) -> None:
    for step in derivation.steps:
        if not (step.where or step.as_written) or isinstance(step, Limit | Difference):
            continue
        sides = [*step.written_entries(), *step.proved_entries(), *(definition.right for definition in step.where)]
        evaluator = Evaluator(WorldSampler(sides, step.context, Random(5)).draw(), definitions=step.where)
        for shown, proved in zip(step.written_entries(), step.proved_entries(), strict=True):
            assert math.isclose(evaluator.value(shown), evaluator.value(proved), rel_tol=1e-9, abs_tol=1e-9)


def test_what_evaluation_makes_the_same_is_said_to_hold_by_evaluation(derivation) -> None:
    for step in derivation.steps:
        trivial = step.relation == "=" and step.proved_left == step.proved_right
        assert step.method.startswith("evaluation") == trivial
        if trivial:
            assert entries(step.left) != entries(step.right), f"{step.name} reads x = x"
            assert step.statement != replace(step, right=step.left).statement


def test_steps_that_hold_by_evaluation_are_marked_everywhere() -> None:
    marked = [step for name in derivation_ids() for step in load_derivation(name).steps if step.holds_by_evaluation]
    assert marked
    assert all(step.where or step.as_written for step in marked)
    merging = load_derivation("online_softmax")
    by_evaluation = sum(step.holds_by_evaluation for step in merging.steps)
    assert render_markdown(merging).count("*Proof:* evaluation.") == by_evaluation
    shown = " ".join(render_text(merging).split())
    assert len(re.findall(r"Proof of \(\d+\): evaluation", shown)) == by_evaluation


def test_hypotheses_are_shown_at_every_step(derivation) -> None:
    markdown, text = render_markdown(derivation), " ".join(render_text(derivation).split())
    for step in derivation.steps:
        for given in step.hypotheses:
            assert given in markdown
            assert " ".join(given.split()) in text


def test_some_steps_have_hypotheses() -> None:
    assert [step for name in derivation_ids() for step in load_derivation(name).steps if step.hypotheses]


def test_one_left_side_with_two_right_sides_has_different_hypotheses() -> None:
    for name in derivation_ids():
        steps = [step for step in load_derivation(name).steps if type(step) is Step]
        for place, one in enumerate(steps):
            for other in steps[:place]:
                if one.proved_left == other.proved_left and one.hypotheses == other.hypotheses:
                    assert same_values(one, other), (name, one.name, other.name)


def same_values(one: Step, other: Step) -> bool:
    sides = [*one.proved_entries(), *other.proved_entries()]
    evaluator = Evaluator(WorldSampler(sides, one.context, Random(3)).draw())
    pairs = zip(entries(one.proved_right), entries(other.proved_right), strict=True)
    return all(math.isclose(evaluator.value(left), evaluator.value(right), rel_tol=1e-9) for left, right in pairs)


def test_random_families_are_hypotheses() -> None:
    any_means = step_of("variance_scaling", "Variance of the inner product, any means")
    zero_means = step_of("variance_scaling", "Variance of the inner product, zero means")
    assert "the components of q are independent and identically distributed with mean μ_q" in any_means.hypotheses[0]
    assert "the components of q are independent and identically distributed with mean 0" in zero_means.hypotheses[0]
    for step in (any_means, zero_means):
        assert "q and k are independent" in step.hypotheses


def step_of(name: str, title: str) -> Step:
    return next(step for step in load_derivation(name).steps if step.name == title)


def test_rows_see_a_key_wherever_a_masked_softmax_divides() -> None:
    assert "B_l = 1 for some l in 1, …, P + R" in step_of("masking", "A masked key has weight 0").hypotheses
    both = step_of("windows", "Windowed weights are masked weights, renormalised").hypotheses
    assert {"B_il = 1 for some l in 1, …, S", "B_il W_il = 1 for some l in 1, …, S"} <= set(both)
    assert "B_il > 0 for some l in 1, …, S" in step_of("attention_backward", "Every row of dS sums to 0").hypotheses


def test_what_might_be_divided_by_zero_is_a_hypothesis(derivation) -> None:
    for step in derivation.steps:
        if isinstance(step, Limit | Difference):
            continue
        sampler = WorldSampler(step.proved_entries(), step.context, Random(11))
        told = any(given == "no denominator is 0" or " for some l in " in given for given in step.hypotheses)
        for _ in range(15):
            evaluator = Evaluator(sampler.draw())
            try:
                for entry in step.proved_entries():
                    evaluator.value(entry)
            except ZeroDivisionError:
                assert told, step.name
            except OverflowError:
                continue


def test_denominators_that_are_positive_by_their_form_need_no_hypothesis() -> None:
    place = index("j")
    keys, mask = up_to(n + size("m")), array("B")
    logits = Sum(exp(x[place]), (place, *keys))
    chosen = Sum(exp(x[place]) * sympy.KroneckerDelta(i, place), (place, *up_to(n)))
    assert nonzero_in_words([logits, chosen, 1 + logits * x[i] ** 2], Context(ranges={i: up_to(n)})) == ()
    assert nonzero_in_words([chosen], Context()) == ("no denominator is 0",)
    assert nonzero_in_words([Sum(exp(x[place]), (place, 1, n - 1))], Context()) != ()
    shown = Sum(mask[place] * exp(x[place]), (place, *keys))
    assert nonzero_in_words([shown], Context()) == ("no denominator is 0",)
    renormalised = Sum(mask[place] * exp(x[place]) / logits.subs(place, k), (place, *keys))
    masked = Context(indicators=frozenset({mask}))
    assert nonzero_in_words([shown, renormalised], masked) == ("B_l = 1 for some l in 1, …, m + n",)


def test_symbols_of_a_parametrisation_have_their_signs() -> None:
    step = step_of(
        "saturation", "The Jacobian is at most twice the amount by which the largest weight falls short of 1"
    )
    assert {"u ≥ 0", "w ≥ 0"} <= set(step.hypotheses)
    assert "u ≥ 0" in step_of("rotary", "First half: the quotient").hypotheses


def test_blocks_and_places_are_said_with_indices() -> None:
    context = Context(ranges={i: (n + 1, n + 1)}, blocks=(Block(x, (None, up_to(n)), 0), Block(p, ((n, n),), 1)))
    said = context.hypotheses()
    assert said == ("x_ij = 0 for every i and every j in 1, …, n", "p_i = 1 for i = n", "i = n + 1")
    assert in_words(Quotient(i + k, n)) == "⌊(i + k)/n⌋"
    assert in_words(Remainder(i, n)) == "i mod n"


def test_a_certificate_is_shown_as_a_formula() -> None:
    page = render_markdown(load_derivation("saturation"))
    assert "by index sums left − right is\n\n$$ \\frac{r^{2}}{r + 1} $$\n\nwhich is ≥ 0 by its form" in page
    for step in load_derivation("softcap").steps:
        assert step.method.startswith(step.short_method)
        assert not step.short_method.endswith("=")


def test_a_name_stands_for_its_definition() -> None:
    step = Step("named", total(lambda m: p[m], "i", up_to(n)), total(lambda m: x[m] ** 2, "i", up_to(n)), "")
    assert not step.check().proved
    assert replace(step, where=(SQUARE,)).check().holds
    assert not replace(step, where=(replace(SQUARE, meaning=lambda place: x[place] ** 3),)).check().holds


def test_a_sum_cannot_capture_a_symbol_of_a_definition() -> None:
    captured = Definition(p, lambda place: x[place] * x[k], (i,))
    with pytest.raises(DerivationError, match="capture"):
        evaluated(Sum(p[k + 1], (k, 1, n)), (captured,))
    assert evaluated(Sum(p[k], (k, 1, n)), (SQUARE,)) == Sum(x[k] ** 2, (k, 1, n))


def test_what_is_written_stays_as_it_is_until_it_is_proved() -> None:
    a, b = real("a"), real("b")
    swapped = written(lambda: exp(b) + exp(a))
    assert as_latex(swapped, as_written=True) == "e^{b} + e^{a}"
    assert evaluated(swapped) == exp(a) + exp(b)
    step = Step("swapped", written(lambda: exp(a) + exp(b)), swapped, "")
    assert step_latex(step) == "e^{a} + e^{b} = e^{b} + e^{a}"
    assert step.holds_by_evaluation
    assert replace(step, right=exp(a) + 2 * exp(b)).check().holds is False


class Endless:
    """A prover that does not come to an end."""

    name = rests_on = "patience"

    def proves(self, left, right, normaliser):
        while True:
            try:
                time.sleep(0)
            except Exception:  # as a library would swallow what interrupts it
                continue


def test_a_step_that_does_not_end_is_not_proved_within_the_limit() -> None:
    angle = real("a")
    result = Step("endless", cos(angle), cos(angle) + Integer(0), "", Endless()).check(limit=0.2)
    assert not result.holds
    assert "not done within the limit of 0.2 s of processor time" in result.report


def test_the_limit_counts_processor_time_and_leaves_the_timer_as_it_was() -> None:
    with processor_limit(0.05):
        time.sleep(0.2)
    with pytest.raises(OutOfTimeError):
        compute_for_ever_within(0.05)
    assert load_derivation("inner_products").check(limit=30).holds


def compute_for_ever_within(seconds: float) -> None:
    with processor_limit(seconds):
        while os.times().user < 1e9:
            pass


def test_epsilon_outside_the_root_is_not_proved_within_the_limit() -> None:
    from veriformer.spec.derivations import layer_norm as norm

    deviation = sympy.sqrt(norm.variance(norm.own)) + norm.epsilon

    def normalised(place):
        return (norm.own(place) - norm.mean(norm.own)) / deviation

    def jacobian(row, column):
        centred = sympy.KroneckerDelta(row, column) - 1 / norm.d
        return (centred - normalised(row) * normalised(column) / norm.d) / deviation

    right = next(step for step in norm.DERIVATION.steps if step.name == "The Jacobian")
    wrong = replace(right, left=Partial(normalised(norm.i), norm.x[norm.k]), right=jacobian(norm.i, norm.k))
    assert not wrong.check(limit=1.0).holds
