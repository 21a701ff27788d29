"""Rendered derivations contain everything a reader needs, and do not claim what was not established."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from veriformer.spec.derivations import (
    derivation_ids,
    derivation_title,
    load_derivation,
    render_markdown,
    render_text,
)
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.markdown import steps_in_words
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
        assert (as_latex(step.certificate) if isinstance(step, Inequality) else step.short_method) in page
        assert all(given in page for given in step.hypotheses)


def test_every_rule_is_named_once_with_its_steps(derivation):
    page = render_markdown(derivation)
    for rule in {rule for step in derivation.steps for rule in step.rules}:
        assert page.count(rule.rests_on) == 1
    numbers = [number for number, step in enumerate(derivation.steps, 1) if step.rules[0].name == "index sums"]
    if numbers:
        assert f"*index sums* ({steps_in_words(numbers)}): " in page


def test_numbers_of_steps_in_words():
    assert steps_in_words([3]) == "step 3"
    assert steps_in_words([1, 2]) == "steps 1 and 2"
    assert steps_in_words([1, 2, 3]) == "steps 1–3"
    assert steps_in_words([1, 2, 3, 5, 8, 9]) == "steps 1–3, 5, 8 and 9"


def test_the_question_and_the_symbols_come_before_the_first_step(derivation):
    for page, meaning in ((render_markdown(derivation), "| symbol | meaning |"), (render_text(derivation), "Symbols")):
        flat = " ".join(page.split())
        places = [flat.index(part) for part in (derivation.opening, meaning, "1. " + derivation.steps[0].name)]
        assert places == sorted(places)
        assert all(" ".join(one.words.split()) in flat for one in derivation.symbols)


def test_what_is_given_stands_between_the_formula_and_its_reason():
    derivation = load_derivation("variance_scaling")
    step = next(step for step in derivation.steps if step.name == "Division by √d_k")
    page = render_markdown(derivation)
    given = f"*Given:* {'; '.join(step.hypotheses)}."
    assert f"$$ {step_latex(step)} $$\n\n{given}\n\n{step.why}" in page


def test_optional_steps_say_so():
    derivation = load_derivation("layer_norm")
    optional = [step.name for step in derivation.steps if step.optional]
    page, text = render_markdown(derivation), render_text(derivation)
    assert optional
    for number, step in enumerate(derivation.steps, 1):
        assert (f"## {number}. {step.name}\n\n*Optional:*" in page) == step.optional
        assert (f"{number}. {step.name} (optional)" in text) == step.optional


def test_related_derivations_are_linked():
    page = render_markdown(load_derivation("variance_scaling"))
    assert f"[{derivation_title('saturation')}](saturation.md)" in page


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


def test_underscores_and_bars_of_symbols_are_not_read_as_markdown(derivation):
    prose = re.sub(r"^\$\$.*?\$\$$", "", render_markdown(derivation), flags=re.MULTILINE | re.DOTALL)
    rendered = MarkdownIt("commonmark").enable("table").render(prose)
    ours = {"Given:", "Proof:", "Optional:", *(rule.name for step in derivation.steps for rule in step.rules)}
    quoted = {source.quotation for source in derivation.sources}
    for emphasised in re.findall("<em>(.*?)</em>", rendered, flags=re.DOTALL):
        assert emphasised in ours or any(f"*{emphasised}*" in quotation for quotation in quoted)
    assert all(row.count("<td>") in (0, 2) for row in re.findall("<tr>.*?</tr>", rendered, flags=re.DOTALL))
