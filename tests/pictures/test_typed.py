"""Formulas that are typed in Unicode, and those in sentences, as LaTeX."""

from __future__ import annotations

import re

import pytest
from veriformer.pictures.formulas import mathml, one_line
from veriformer.pictures.prose import formula_in_letters, in_letters, pieces, pieces_of_formula
from veriformer.pictures.typed import latex_of
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

TYPED = sorted({law.formula for law in LAWS.values()} | {operation.formula for operation in OPERATIONS.values()})
_SPELT = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀᵗ⋅∼'", "01234567890123456789−Tt·~′")


def squeezed(formula: str) -> str:
    """Return the letters and signs of a formula in an order that does not depend on how it is laid out."""
    kept = re.sub(r"[ (){}_^,]", "", formula.translate(_SPELT))
    return "".join(sorted(kept))


@pytest.mark.parametrize("formula", TYPED)
def test_every_formula_of_the_catalogues_keeps_its_signs_as_mathematics(formula: str) -> None:
    latex = latex_of(formula)
    assert mathml(latex).startswith("<math"), latex
    assert squeezed(one_line(latex)) == squeezed(formula)


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        ("√d_k", r"\sqrt{d_{k}}"),
        ("W_Qᵀ", r"W_{Q}^{T}"),
        ("e^(−x²/2)", r"e^{- x^{2}/ {2}}"),
        ("x_b,i+1", "x_{b,i+1}"),
        ("norm_first", r"\text{norm\_first}"),
        ("1/sqrt(d_k)", r"{1}/ \sqrt{d_{k}}"),
        ("W_gate", r"W_{\text{gate}}"),
    ],
)
def test_notation(formula: str, latex: str) -> None:
    assert latex_of(formula) == latex


@pytest.mark.parametrize(
    ("sentence", "formulas"),
    [
        ("Dividing by √d_k keeps the variance, as d_k = 64 shows.", ["√d_k", "d_k = 64"]),
        ("A key of q_i and k_i.", ["q_i", "k_i"]),
        ("The factor is 1/(1 − p), and x is kept.", ["1/(1 − p)", "x"]),
        ("A grouped key/value head repeats, one half at 1/2.", []),
        ("norm_first is a keyword of `x_i`, and grad_x too.", []),
        ("0 · NaN is NaN.", ["0"]),
        ("(and 0 where i = j)", ["i = j"]),
        ("divided by sqrt(d_k) in h.0.w_q, norm_1.gamma and docs/my_file.py:3", ["sqrt(d_k)"]),
        ("the weight is |v − o|.", ["|v − o|"]),
    ],
)
def test_formulas_of_a_sentence(sentence: str, formulas: list[str]) -> None:
    found = pieces(sentence)
    assert "".join(piece.text for piece in found) == sentence
    assert [piece.text for piece in found if piece.latex] == formulas


@pytest.mark.parametrize("formula", TYPED)
def test_a_formula_can_end_a_line_between_its_pieces(formula: str) -> None:
    found = pieces_of_formula(formula)
    assert "".join(piece.text for piece in found) == formula
    assert all(len(piece.text) <= 120 for piece in found)


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("divided by √d_k", "divided by √dₖ"),
        ("Weights of variance 1/n_in keep the variance", "Weights of variance 1/nᵢₙ keep the variance"),
        ("f(u, v) = (tanh(u) v, e^{uv}).", "f(u, v) = (tanh(u) v, eᵘᵛ)."),
        # There is no lowered d, and no name of a program is a formula.
        ("d_model numbers, scale_missing, max_norm", "d_model numbers, scale_missing, max_norm"),
    ],
)
def test_a_sentence_that_cannot_be_set_has_lowered_and_raised_letters(sentence: str, shown: str) -> None:
    assert in_letters(sentence) == shown


def test_a_formula_that_cannot_be_set_has_lowered_and_raised_letters() -> None:
    assert formula_in_letters("p_(ij) = e^(x_i)/Σ_j x_j^2") == "pᵢⱼ = e^(xᵢ)/Σⱼ xⱼ²"
