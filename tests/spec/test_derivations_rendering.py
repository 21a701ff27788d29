"""Rendered derivations contain everything a reader needs, and do not claim what was not established."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from veriformer.spec.derivations import derivation_ids, load_derivation, render_markdown, render_text
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.printing import as_latex
from veriformer.spec.derivations.rendering import step_latex, step_text


@pytest.fixture(scope="module", params=derivation_ids())
def derivation(request):
    return load_derivation(request.param)


def test_markdown_contains_every_part(derivation):
    page = render_markdown(derivation)
    assert page.startswith(f"# {derivation.title}\n")
    assert derivation.scope.meaning in page
    for part in (*derivation.assumptions, *derivation.remarks, *(s.citation for s in derivation.sources)):
        assert part in page
    for number, step in enumerate(derivation.steps, 1):
        assert f"## {number}. {step.name}\n" in page
        assert f"$$ {step_latex(step)} $$" in page
        assert step.why in page
        assert (as_latex(step.certificate) if isinstance(step, Inequality) else step.method) in page
        assert all(f"`{given}`" in page for given in step.hypotheses)


def test_formulas_are_balanced_and_free_of_raw_names(derivation):
    for step in derivation.steps:
        formula = step_latex(step)
        assert formula.count("{") == formula.count("}")
        assert len(re.findall(r"\\left(?![a-z])", formula)) == len(re.findall(r"\\right(?![a-z])", formula))
        for name in ("Quotient", "Remainder", "Partial", "Expectation", "Variance", "KroneckerDelta", "Sum("):
            assert name not in formula


def test_text_contains_every_step_and_fits(derivation):
    page = render_text(derivation, width=100)
    flat = " ".join(page.split())
    for number, step in enumerate(derivation.steps, 1):
        assert f"{number}. {step.name}" in flat
        assert " ".join(step.why.split()) in flat
    assert max(map(len, page.splitlines())) <= 100


def test_a_result_is_told():
    derivation = load_derivation("multi_head")
    page = render_markdown(derivation, derivation.check())
    assert page.count("Checked:") == len(derivation.steps)
    assert "altered right-hand sides are rejected" in page
    assert "✓ 1." in render_text(derivation, derivation.check())


def test_a_failure_is_not_hidden():
    derivation = load_derivation("multi_head")
    broken = replace(derivation, steps=(replace(derivation.steps[0], right=derivation.steps[0].right + 1),))
    result = broken.check()
    assert "NOT ESTABLISHED" in render_markdown(broken, result)
    assert "✗ 1." in render_text(broken, result)


def test_wide_formulas_fall_back_to_one_line():
    step = load_derivation("layer_norm").steps[2]
    assert max(map(len, step_text(step, 1000).splitlines())) > 60
    assert max(map(len, step_text(step, 60).splitlines())) <= 60


def test_a_derivation_that_no_law_names_says_why():
    cost = load_derivation("cost")
    for rendered in (render_markdown(cost), render_text(cost)):
        assert "No law names it." in rendered
    assert "No law names it." not in render_text(load_derivation("alibi"))
