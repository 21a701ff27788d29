"""What a reader meets for the first time is explained: every symbol, every term, every optional step."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sympy
from sympy import Function, IndexedBase, Rational, Sum, Symbol, exp, oo, sqrt
from sympy.core.function import AppliedUndef
from veriformer.spec.derivations import catalogue, derivation_ids, load_derivation
from veriformer.spec.derivations.derivation import Derivation, Difference, Step
from veriformer.spec.derivations.expressions import Expectation, Partial, Quotient, Remainder, Variance, total
from veriformer.spec.derivations.formulas import array, index, positive, real, size, up_to
from veriformer.spec.derivations.notation import signs_of
from veriformer.spec.derivations.printing import in_words
from veriformer.spec.laws import LAWS

# A letter that is no part of a word, with its index if it has one.
_LETTER = r"(?<![\w'])([A-Za-zΑ-Ωα-ωℓ])(?:_(\w+|\([^)]*\)))?(?![\w])"
_ENGLISH = {"a", "A", "I", "s"}
_NOTATION = {"e", "δ", "Σ", "π"}
# What a sentence itself introduces: "for every angle θ", "the bound g_j of θ_j".
_INTRODUCED_WHERE_THEY_STAND = {
    "variance_scaling": {"X", "μ", "P", "E"},
    "sinusoid_relative_position": {"α", "β", "θ"},
    "masking": {"m"},
    "cross_entropy": {"x"},
    "online_softmax": {"x", "y"},
    "attention_backward": {"b", "d", "l"},
    "additions_backward": {"d"},
    "rounding_of_sums": {"m", "g", "j", "k", "J", "λ"},
    "attention_rounding": {"g", "w"},
    "normalisation_rounding": {"g", "j"},
    "cost": {"x"},
}


@pytest.fixture(scope="module", params=derivation_ids())
def derivation(request: pytest.FixtureRequest) -> Derivation:
    return load_derivation(request.param)


def defined(derivation: Derivation) -> set[str]:
    return {in_words(symbol) for meaning in derivation.symbols for symbol in meaning.symbols}


def formulas_of(step: Step) -> list[Any]:
    certificate = getattr(step, "certificate", None)
    own = [*step.written_entries(), *(definition.right for definition in step.where)]
    constraints = [*step.context.parametrisation.values(), *step.context.facts]
    return [sympy.sympify(part) for part in (*own, *constraints, *([] if certificate is None else [certificate]))]


def symbols_of(step: Step) -> set[str]:
    """The free symbols, arrays and functions of a step, without the names that it defines."""
    found: set[Any] = set()
    for formula in formulas_of(step):
        arrays = formula.atoms(IndexedBase)
        labels = {base.label for base in arrays}
        found |= arrays | {applied.func for applied in formula.atoms(AppliedUndef)}
        found |= {one for one in formula.free_symbols if isinstance(one, Symbol) and one not in labels}
    own = {definition.name for definition in step.where} | {one for each in step.where for one in each.parameters}
    return {in_words(one) for one in found - own}


def named_by(step: Step) -> set[str]:
    """What a step defines, and the indices of its sums."""
    sums = {limit[0] for formula in formulas_of(step) for one in formula.atoms(Sum) for limit in one.limits}
    names = {one for each in step.where for one in (each.name, *each.parameters)}
    quantified = {"i", "j", "l"} if re.search(r"every [ij]\b|some l\b", "; ".join(step.hypotheses)) else set()
    return {in_words(one) for one in sums | names} | quantified


def undefined_letters(text: str, known: set[str]) -> set[str]:
    letters = {(base, f"{base}_{below}" if below else base) for base, below in re.findall(_LETTER, text)}
    return {whole for base, whole in letters if not {base, whole} & known and whole not in _ENGLISH}


def test_every_symbol_of_a_formula_is_in_the_table_or_defined_in_the_step(derivation: Derivation) -> None:
    for step in derivation.steps:
        assert symbols_of(step) <= defined(derivation), (step.name, symbols_of(step) - defined(derivation))


def test_every_symbol_of_a_sentence_is_defined(derivation: Derivation) -> None:
    known = defined(derivation) | _NOTATION | _INTRODUCED_WHERE_THEY_STAND.get(derivation.id, set())
    general = (*derivation.assumptions, *derivation.remarks, *(one.words for one in derivation.symbols))
    for text in (derivation.opening, derivation.title, *general):
        assert not undefined_letters(text, known), text
    for step in derivation.steps:
        for text in (step.name, step.why, *step.hypotheses):
            assert not undefined_letters(text, known | named_by(step)), (step.name, text)


def test_undefined_letters_are_found() -> None:
    assert undefined_letters("A row's x_j and θ are a part of e^(κ)", {"e", "x"}) == {"θ", "κ"}
    assert undefined_letters("d_model", {"d_k"}) == {"d_model"}


def test_no_symbol_is_explained_twice(derivation: Derivation) -> None:
    symbols = [in_words(symbol) for meaning in derivation.symbols for symbol in meaning.symbols]
    assert len(symbols) == len(set(symbols))


def test_the_opening_is_a_question_and_a_reason(derivation: Derivation) -> None:
    question, reason = re.split(r"(?<=[.?!]) (?=[A-Z])", derivation.opening)
    assert question.endswith("?")
    assert reason.endswith(".")
    assert len(derivation.opening) < 400


def test_related_derivations_exist_and_name_each_other(derivation: Derivation) -> None:
    for other in derivation.see_also:
        assert derivation.id in load_derivation(other).see_also
    assert len(set(derivation.see_also)) == len(derivation.see_also)
    assert derivation.id not in derivation.see_also


def test_variance_scaling_and_saturation_begin_with_the_reason_in_numbers() -> None:
    assert "saturation" in load_derivation("variance_scaling").see_also
    for name in ("variance_scaling", "saturation"):
        first, second = load_derivation(name).steps[:2]
        assert "d_k = 64" in "; ".join(first.hypotheses)
        assert first.values == ("0.99966", "0.7311")
        assert second.values == ("0.000670", "0.3932")


def test_no_law_names_an_optional_step_and_counterexamples_of_no_law_are_optional(derivation: Derivation) -> None:
    named = {name for law in LAWS.values() if law.claim.background == derivation.id for name in law.claim.steps}
    optional = {step.name for step in derivation.steps if step.optional}
    assert not named & optional
    if derivation.reason_without_law is None and derivation.id in {law.claim.derivation for law in LAWS.values()}:
        exhibits = {step.name for step in derivation.steps if isinstance(step, Difference)}
        assert exhibits <= named | optional


def test_hypotheses_are_in_no_programming_language(derivation: Derivation) -> None:
    for step in derivation.steps:
        for given in step.hypotheses:
            assert not re.search(r"\*|\w\[|sqrt|exp\(|Sum\(|[-+=] ?-|\d-", given), given


def test_titles_and_names_do_not_begin_with_a_pronoun(derivation: Derivation) -> None:
    for name in (catalogue.derivation_title(derivation.id), *(step.name for step in derivation.steps)):
        assert not re.match(r"(It|Its|Nor|Also|But|And|Which|That)\b", name), name


x, i, k, n = array("x"), index("i"), index("k"), size("n")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (x[i], "x_i"),
        (array("B")[i, k], "B_ik"),
        (array("B")[1, 2], "B_1,2"),
        (x[n + 1], "x_(n + 1)"),
        (array("W_gate")[i, k], "(W_gate)_ik"),
        (sqrt(size("d_k")), "√d_k"),
        (1 / sqrt(n), "1/√n"),
        (positive("sigma_q") ** 2, "σ_q²"),
        (exp(-real("a")), "e^(−a)"),
        ((real("a") - real("r") + 1) / 2, "(a + 1 − r)/2"),
        (Rational(1, 2) * n, "n/2"),
        (Quotient(i * n + k, n), "⌊(i n + k)/n⌋"),
        (Remainder(2 * k + i, 2), "(i + 2 k) mod 2"),
        (sympy.KroneckerDelta(i, k), "δ_ik"),
        (total(lambda m: x[m] ** 2, "l", up_to(n)) / n, "(Σ_(l = 1..n) x_l²)/n"),
        (2 * total(lambda m: x[m], "l", up_to(n)), "2 Σ_(l = 1..n) x_l"),
        (Function("pi")(i), "π(i)"),
        (Expectation(x[i]), "E[x_i]"),
        (Variance(x[i]), "Var(x_i)"),
        (Partial(x[i] + 1, x[k]), "∂(x_i + 1)/∂x_k"),
        (sympy.log(n), "ln(n)"),
        ((1 + n) ** i, "(n + 1)^i"),
        (-oo, "−∞"),
        (sympy.Integer(-10), "−10"),
        (x[1] - x[2], "x_1 − x_2"),
        (real("lambda_1") * (n + 1), "λ_1 (n + 1)"),
    ],
)  # fmt: skip
def test_expressions_on_one_line(expression: Any, words: str) -> None:
    assert in_words(expression) == words


def test_signs_are_explained_where_they_occur() -> None:
    signs = [sign.text for sign in signs_of(load_derivation("variance_scaling").steps)]
    assert {"E[X]", "Var(X)", "δ_ij"} <= set(signs)
    assert "⌊n/d⌋" not in signs
    assert "⌊n/d⌋" in [sign.text for sign in signs_of(load_derivation("multi_head").steps)]
