"""Derivations in a terminal: every formula has its number and fits, and nothing is in the notation of a program."""

from __future__ import annotations

import re

import pytest
from veriformer.spec.derivations import derivation_ids, load_derivation, render_text
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.splitting import split_formula
from veriformer.spec.derivations.text import step_lines

RAW = re.compile(
    r"\\|\$|\*\*|\b(Sum|Integral|Piecewise|Product|Quotient|Remainder|Partial|Expectation|Variance|KroneckerDelta"
    r"|Rational|sqrt|exp|Indexed|Symbol|Limit|Derivative)\("
)


@pytest.fixture(scope="module", params=derivation_ids())
def derivation(request: pytest.FixtureRequest) -> Derivation:
    return load_derivation(request.param)


@pytest.fixture(scope="module")
def page(derivation: Derivation) -> str:
    return render_text(derivation, width=100)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_step_has_its_reason_and_its_formula_under_its_number(derivation: Derivation, page: str) -> None:
    for number, step in enumerate(derivation.steps, 1):
        assert f"{number}. {step.name}" in flat(page)
        assert flat(step.why) in flat(page)
        assert len(re.findall(rf"^    \({number}\) ", page, re.MULTILINE)) == 1
        assert f"Proof of ({number}): " in page


def test_no_line_is_too_wide_and_none_is_in_the_notation_of_a_program(page: str) -> None:
    assert max(map(len, page.splitlines())) <= 100
    assert not [line for line in page.splitlines() if RAW.search(line)]


def test_the_statements_come_without_their_proofs_where_these_are_not_asked_for(derivation: Derivation) -> None:
    short = render_text(derivation, width=100, proof=False)
    assert all(f"    ({number}) " in short for number in range(1, len(derivation.steps) + 1))
    assert "Proof of" not in short
    assert "Rules of proof" not in short
    assert max(map(len, short.splitlines())) <= 100


def test_steps_that_are_asked_for_come_first() -> None:
    page = render_text(load_derivation("softmax"), first=("Weights are not negative",))
    places = [
        page.index(name) for name in ("2. Weights are not negative", "The other steps", "1. The weights of a row")
    ]
    assert places == sorted(places)


def test_a_step_is_printed_on_one_line_with_what_its_names_stand_for() -> None:
    step = next(step for step in load_derivation("softmax").steps if step.name == "The Jacobian is symmetric")
    assert step_lines(7, step) == [
        "    (7)   p_i (δ_ik − p_k) = p_k (δ_ik − p_i)",
        "          where p_i = e^(x_i)/(Σ_(l=1…n) e^(x_l))",
    ]


def test_quoted_formulas_of_sources_are_readable() -> None:
    assert "zero mean and variance σ²”" in flat(render_text(load_derivation("variance_scaling")))


@pytest.mark.parametrize(
    ("formula", "width", "lines"),
    [
        ("a = b", 40, ["a = b"]),
        ("aaaa bbbb = cccc dddd", 16, ["aaaa bbbb", "  = cccc dddd"]),
        ("aaaa = bbbb = cccc", 14, ["aaaa = bbbb", "  = cccc"]),
        ("aaaa = bbbb + cccc − dddd", 14, ["aaaa", "  = bbbb", "    + cccc", "    − dddd"]),
        ("aaaa (bbbb + cccc) dddd", 16, ["aaaa", "  (bbbb + cccc)", "  dddd"]),
        ("aaaa ≥ Σ_(1≤j≤n, 1≤i≤n) x_ij", 24, ["aaaa", "  ≥ Σ_(1≤j≤n, 1≤i≤n) x_ij"]),
        ("W_K[b, c] W_Q[b, c]", 12, ["W_K[b, c]", "  W_Q[b, c]"]),
        ("indivisible_name", 8, ["indivisible_name"]),
        ("aaaa + bbbb = cccc", 10, ["aaaa", "    + bbbb", "  = cccc"]),
    ],
)
def test_formulas_are_split_at_relations_first_then_at_sums(formula: str, width: int, lines: list[str]) -> None:
    assert split_formula(formula, width) == lines


def test_splitting_changes_nothing_but_the_lines() -> None:
    for step in load_derivation("attention_backward").steps:
        lines = split_formula(step.statement, 40)
        assert " ".join(line.strip() for line in lines) == step.statement
