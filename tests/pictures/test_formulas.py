"""Every formula of the project in a browser and in a line of text."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from veriformer.pictures.formulas import code, mathml, one_line
from veriformer.spec.derivations import derivation_ids, load_derivation
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.printing import as_latex
from veriformer.spec.derivations.rendering import definition_latex, step_latex
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS


def formulas(derivation: str) -> Iterator[str]:
    for step in load_derivation(derivation).steps:
        yield step_latex(step)
        yield from map(definition_latex, step.where)
        if isinstance(step, Inequality):
            yield " = ".join(map(as_latex, step.certificate_forms))


@pytest.mark.parametrize("derivation", derivation_ids())
def test_every_formula_of_a_derivation_becomes_mathml_and_one_line(derivation: str) -> None:
    for latex in formulas(derivation):
        root = ElementTree.fromstring(mathml(latex))
        line = one_line(latex)
        assert root.tag == "{http://www.w3.org/1998/Math/MathML}math", latex
        assert root.get("alttext") and len(list(root.iter())) > 2, latex
        assert line and not set(line) & set("\\$\n&"), latex
        assert line.count("(") == line.count(")"), latex


@pytest.mark.parametrize(
    ("latex", "line"),
    (
        (r"\frac{1}{2}", "1/2"),
        (r"\frac{a + b}{c d} x", "((a + b)/(c d)) x"),
        (r"\frac{{z}_{j}}{\sqrt{d_{k}}}", "z_j/√d_k"),
        (r"\frac{\sum_{j} x_j}{n}", "(Σ_j x_j)/n"),
        (r"\frac{\frac{a}{b}}{c}", "(a/b)/c"),
        (r"\sqrt{\epsilon + v}", "√(ε + v)"),
        (r"\sqrt{x^{2}}", "√(x²)"),
        (r"x^{2} - 1", "x² − 1"),
        (r"\left(x + 1\right)^{2}", "(x + 1)²"),
        (r"\left(\frac{a}{b}\right)^{2}", "(a/b)²"),
        (r"e^{- {x}_{i}}", "e^(−x_i)"),
        (r"- \alpha \beta", "−α β"),
        (r"\sum_{j=1}^{n} {p}_{j} \neq 0", "Σ_(j=1…n) p_j ≠ 0"),
        (r"\sum_{\substack{1 \leq i \leq n\\1 \leq k \leq n}} {a}_{i,k}", "Σ_(1≤i≤n, 1≤k≤n) a_ik"),
        (r"{W_{gate}}_{a,f} + {x}_{1,2}", "W_gate[a, f] + x_(1,2)"),
        (r"\cos^{2}{\left(x \right)} + f{\left(x \right)} + f \left(x + 1\right)", "cos²(x) + f(x) + f (x + 1)"),
        (r"\operatorname{Var}\left(X\right) = \mathbb{E}\left[X^{2}\right]", "Var(X) = 𝔼[X²]"),
        (r"\lim_{s \to \infty} e^{eps}", "lim_(s→∞) e^eps"),
        (r"\left[\begin{matrix}a & b\\c & d\end{matrix}\right]", "[a, b; c, d]"),
        (r"\left\lfloor c / d_{v} \right\rfloor + \left(a b\right) \bmod n", "⌊c/d_v⌋ + (a b) mod n"),
        (r"\frac{\partial}{\partial {x}_{k}} \left({y}_{i}\right)", "∂/∂x_k (y_i)"),
        (r"softmax\left(Q K^{T}\right) V", "softmax(Q Kᵀ) V"),
        (r"$\hat{y}$", "\u0177"),
        (r"\sum_{a} - x_{a} = - y", "Σ_a −x_a = −y"),
    ),
)
def test_a_line_means_what_its_formula_means(latex: str, line: str) -> None:
    assert one_line(latex) == line


def test_the_formulas_of_laws_and_operations_are_code_as_they_are() -> None:
    formulas = [law.formula for law in LAWS.values()] + [operation.formula for operation in OPERATIONS.values()]
    for formula in formulas:
        root = ElementTree.fromstring(code(formula))
        assert (root.tag, root.text) == ("code", formula)


@given(st.text(alphabet=st.sampled_from("\\{}^_&$<>\"'abx1 ()[]"), max_size=20))
def test_what_is_no_latex_is_shown_as_it_is(text: str) -> None:
    assert not set(one_line(text)) & set("\\$\n")
    ElementTree.fromstring(mathml(text))


@pytest.mark.parametrize(
    "latex",
    (
        r"\href{javascript:alert(1)}{x}",
        r"\text{<script>alert(1)</script>}",
        r"x \class{vf-y}{z}",
        r"\style{background:url(//example.org)}{x}",
        r'"><img src=x onerror=alert(1)>',
        "\\frac{<img src=x onerror=alert(1)>",
        "&lt;script&gt;&#60;script&#62;",
    ),
)
def test_no_formula_injects_markup(latex: str) -> None:
    root = ElementTree.fromstring(mathml(latex))
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not names & {"script", "img", "a"}
    assert not attributes & {"href", "style", "src", "onerror", "id"}
    assert attributes & {"class"} == ({"class"} if root.tag == "code" else set())
