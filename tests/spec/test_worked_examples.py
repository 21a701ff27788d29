"""The worked examples against their documents and against their own verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sympy
from veriformer.spec.worked_examples import (
    Verdict,
    load_worked_example,
    load_worked_examples,
    worked_example_ids,
)
from veriformer.spec.worked_examples.example import WorkedExample, entries, printed_entries
from veriformer.spec.worked_examples.judging import compare, is_equal, judge
from veriformer.spec.worked_examples.printed import claim, number, numbers
from veriformer.spec.worked_examples.rendering import decimals, render_markdown

SEEDS = Path(__file__).parents[2] / "docs" / "seeds"
EXAMPLES = load_worked_examples()
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
OF_DOCUMENTS = [example for example in EXAMPLES if example.document]
each_of_a_document = pytest.mark.parametrize("example", OF_DOCUMENTS, ids=lambda example: example.id)
EXECUTABLE = [example for example in EXAMPLES if example.execution is not None]
each_executable = pytest.mark.parametrize("example", EXECUTABLE, ids=lambda example: example.id)


@each_of_a_document
def test_the_fragment_begins_on_its_line_of_the_document(example: WorkedExample) -> None:
    lines = (SEEDS / f"{example.document}.txt").read_text(encoding="utf-8").split("\n")
    start = "\n".join(lines[example.line - 1 :]).find(example.fragment)
    assert 0 <= start < len(lines[example.line - 1])


@each_example
def test_every_printed_number_stands_in_the_fragment(example: WorkedExample) -> None:
    for printed in printed_entries(example.printed):
        bounded = rf"(?<![\d.]){re.escape(printed.text)}(?![\d.]?\d)"
        assert re.search(bounded, example.fragment, re.IGNORECASE), printed.text


@each_example
def test_the_verdict_follows_from_printed_and_exact(example: WorkedExample) -> None:
    assert judge(example).verdict is example.verdict


@each_example
def test_exact_values_hold_no_decimal(example: WorkedExample) -> None:
    assert not any(entry.has(sympy.Float) for entry in entries(example.exact))


@each_executable
def test_a_result_contains_the_exact_value(example: WorkedExample) -> None:
    assert example.execution is not None
    exact, result = entries(example.exact), entries(example.execution.result)
    if all(isinstance(entry, bool) for entry in result):
        exact = tuple(entry == 0 for entry in exact)
    width = len(exact)
    assert any(result[start : start + width] == exact for start in range(len(result) - width + 1))


def test_ids_are_unique_and_name_their_document() -> None:
    ids = worked_example_ids()
    assert len(set(ids)) == len(ids) == len(EXAMPLES)
    assert all(example.id.startswith(f"seed_{example.document}.") for example in OF_DOCUMENTS)
    assert not any(example.id.startswith("seed_") for example in EXAMPLES if not example.document)


def test_an_unknown_id_is_named() -> None:
    with pytest.raises(KeyError, match="seed_999"):
        load_worked_example("seed_999.nothing")


def test_all_verdicts_occur() -> None:
    assert {example.verdict for example in EXAMPLES} == set(Verdict)


@pytest.mark.parametrize(
    ("text", "exact", "verdict"),
    [
        ("0.330", sympy.Rational("0.3304"), Verdict.ROUNDED),
        ("0.330", sympy.Rational("0.3306"), Verdict.WRONG),
        ("0.5", sympy.Rational(1, 2), Verdict.CORRECT),
        ("−2", sympy.Integer(-2), Verdict.CORRECT),
        ("64", sympy.Rational(641, 10), Verdict.WRONG),
        ("41%", sympy.Rational("0.4149"), Verdict.ROUNDED),
        ("25M", sympy.Integer(25_600_000), Verdict.WRONG),
        ("−∞", -sympy.oo, Verdict.CORRECT),
        ("−∞", sympy.Integer(-10), Verdict.WRONG),
        ("0.1", -sympy.oo, Verdict.WRONG),
        ("1/3", 1 / sympy.Integer(3), Verdict.CORRECT),
    ],
)
def test_a_number_promises_the_digits_that_it_prints(text: str, exact: sympy.Expr, verdict: Verdict) -> None:
    assert compare(number(text), exact).verdict is verdict


def test_text_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="a printed number was expected"):
        number("many")


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="one shape"):
        compare(numbers("1 2"), (sympy.Integer(1),))


def test_equality_is_proved_through_different_forms() -> None:
    assert is_equal(sympy.sqrt(2) / 2, 1 / sympy.sqrt(2))
    assert is_equal(sympy.exp(2) / (sympy.exp(2) + 1), 1 / (1 + sympy.exp(-2)))
    assert not is_equal(sympy.sqrt(2), sympy.Rational(141421356237, 10**11))


def test_a_claim_is_held_to_its_exact_value() -> None:
    assert compare(claim("always", sympy.true), sympy.false).verdict is Verdict.WRONG
    assert compare(claim("always", sympy.true), sympy.true).verdict is Verdict.CORRECT


def test_an_idle_condition_is_refused() -> None:
    idle = WorkedExample(
        "x",
        "000",
        1,
        "t",
        "1",
        number("1"),
        sympy.Integer(1),
        Verdict.CONDITIONAL,
        otherwise=sympy.Integer(1),
    )
    with pytest.raises(ValueError, match="without its condition"):
        judge(idle)


@each_of_a_document
def test_rendering_shows_fragment_and_verdict(example: WorkedExample) -> None:
    text = render_markdown(example)
    assert example.fragment in text
    assert f"**{example.verdict}" in text
    assert ("Correction" in text) == (example.verdict is Verdict.WRONG)


def test_an_example_of_the_project_shows_its_question_and_no_verdict() -> None:
    example = load_worked_example("gradients.softmax_of_three")
    text = render_markdown(example)
    assert example.fragment in text
    assert example.note in text
    assert "not given" not in text


def test_the_correction_of_cat_is_rendered() -> None:
    assert decimals(load_worked_example("seed_001.cat_weights").exact) == "[0.290559, 0.363934, 0.345507]"
