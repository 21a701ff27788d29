"""A derivation as Markdown with LaTeX, as text for a terminal, and as HTML for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import sympy
from veriformer.pictures.model import Formula
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.limits import Limit
from veriformer.spec.derivations.printing import as_latex, drawn
from veriformer.spec.derivations.results import DerivationResult, StepResult
from veriformer.spec.derivations.steps import Step

_RELATIONS = {"=": "=", "≠": r"\neq", "≥": r"\geq", "→": r"\to"}


def render_markdown(derivation: Derivation, result: DerivationResult | None = None) -> str:
    """Scope, assumptions, sources, and each step with its formula, justification and checks.

    With a result, every step says what its checks found; without one, by which method it is proved.
    """
    lines = [f"# {derivation.title}", "", f"`{derivation.id}` holds for {derivation.scope.meaning}.", ""]
    lines += ["**Assumptions**", "", *(f"- {assumption}" for assumption in derivation.assumptions), ""]
    lines += ["**Sources**", "", *(f"- {source.citation}" for source in derivation.sources), ""]
    for number, step in enumerate(derivation.steps, 1):
        lines += [f"## {number}. {step.name}", "", f"$$ {step_latex(step)} $$", ""]
        lines += ["where", ""] if step.where else []
        for definition in step.where:
            lines += [f"$$ {definition_latex(definition)} $$", ""]
        lines += [f"{step.why}", ""]
        if step.hypotheses:
            lines += [f"*Given:* {'; '.join(f'`{given}`' for given in step.hypotheses)}.", ""]
        lines += [*_proof_lines(step), *_checks_sentence(_result_of(number, result)), ""]
    if derivation.remarks:
        lines += ["**Remarks**", "", *(f"- {remark}" for remark in derivation.remarks), ""]
    if derivation.reason_without_law:
        lines += [f"**No law names it.** {derivation.reason_without_law}", ""]
    return "\n".join(lines)


def render_html(derivation: Derivation) -> str:
    """The same in HTML for a notebook, with formulas that a browser draws."""
    from veriformer.pictures.html import Entry, card

    entries = [Entry(f"{derivation.id} holds for {derivation.scope.meaning}.")]
    entries += [Entry(assumption, "assumption") for assumption in derivation.assumptions]
    for number, step in enumerate(derivation.steps, 1):
        entries += [Entry(Formula(step_latex(step)), f"{number}. {step.name}")]
        entries += [Entry(Formula(definition_latex(definition)), "where") for definition in step.where]
        entries += [Entry(step.why), *([Entry("; ".join(step.hypotheses), "given")] if step.hypotheses else [])]
    entries += [Entry(remark, "remark") for remark in derivation.remarks]
    return card(derivation.title, *entries, *(Entry(source.citation, "source") for source in derivation.sources))


def render_text(
    derivation: Derivation, result: DerivationResult | None = None, width: int = 100, first: Sequence[str] = ()
) -> str:
    """The same for a terminal: formulas in Unicode, or on one line where they would be wider than `width`.

    The steps named in `first` come first, under their numbers, the others after them.
    """
    lines = [derivation.title, "═" * min(len(derivation.title), width)]
    lines += _wrapped(f"{derivation.id}: {derivation.scope.meaning}", width)
    lines += ["", "Assumptions", *_bullets(derivation.assumptions, width)]
    lines += ["", "Sources", *_bullets([source.citation for source in derivation.sources], width)]
    numbered = list(enumerate(derivation.steps, 1))
    named = [(number, step) for number, step in numbered if step.name in first]
    for number, step in named:
        lines += _step_lines(number, step, _result_of(number, result), width)
    if named:
        lines += ["", "The other steps"]
    for number, step in numbered:
        if (number, step) not in named:
            lines += _step_lines(number, step, _result_of(number, result), width)
    if derivation.remarks:
        lines += ["", "Remarks", *_bullets(derivation.remarks, width)]
    if derivation.reason_without_law:
        lines += ["", *_wrapped(f"No law names it. {derivation.reason_without_law}", width)]
    return "\n".join(lines) + "\n"


def _step_lines(number: int, step: Step, checked: StepResult | None, width: int) -> list[str]:
    mark = "" if checked is None else "✓ " if checked.holds else "✗ "
    lines = ["", *_wrapped(f"{mark}{number}. {step.name}", width), ""]
    lines += [textwrap.indent(step_text(step, width - 4), "    ")]
    lines += ["", "where"] if step.where else []
    for definition in step.where:
        lines += ["", textwrap.indent(definition_text(definition, width - 4), "    ")]
    given = _wrapped(f"Given: {'; '.join(step.hypotheses)}.", width) if step.hypotheses else []
    proof = _wrapped(" ".join([f"Proof: {step.method}.", *_checks_sentence(checked)]), width)
    return [*lines, "", *_wrapped(step.why, width), *given, *proof]


def step_latex(step: Step) -> str:
    """The statement of a step in LaTeX: the sides as they are written."""
    left, right = (as_latex(side, step.as_written) for side in (step.left, step.right))
    if isinstance(step, Limit):
        return rf"\lim_{{{sympy.latex(step.variable)} \to {sympy.latex(step.point)}}} {left} = {right}"
    return f"{left} {_RELATIONS[step.relation]} {right}"


def definition_latex(definition: Definition) -> str:
    """What a name stands for, in LaTeX."""
    return f"{as_latex(definition.left)} = {as_latex(definition.right)}"


def step_text(step: Step, width: int = 96) -> str:
    """The statement of a step in Unicode art, or on one line where that would be too wide."""
    joined = drawn(step.left, step.relation, step.right, step.as_written)
    if isinstance(step, Limit):
        joined += f"\n({sympy.pretty(step.variable)} → {sympy.pretty(step.point)})"
    return _fitting(joined, step.statement, width)


def definition_text(definition: Definition, width: int = 96) -> str:
    """What a name stands for, in Unicode art or on one line."""
    joined = drawn(definition.left, "=", definition.right)
    return _fitting(joined, f"{definition.left} = {definition.right}", width)


def _fitting(drawn: str, statement: str, width: int) -> str:
    if max(map(len, drawn.splitlines())) <= width:
        return drawn
    return "\n".join(textwrap.wrap(statement, width, subsequent_indent="  "))


def _result_of(number: int, result: DerivationResult | None) -> StepResult | None:
    return None if result is None else result.steps[number - 1]


def _proof_lines(step: Step) -> list[str]:
    """How a step is proved; a certificate is a formula of its own."""
    if not isinstance(step, Inequality):
        return [f"*Proof:* {step.method}."]
    certificate = " = ".join(map(as_latex, step.certificate_forms))
    return [
        f"*Proof:* by {step.prover.name} left − right is",
        "",
        f"$$ {certificate} $$",
        "",
        "and this is non-negative by its form.",
    ]


def _checks_sentence(result: StepResult | None) -> list[str]:
    if result is None:
        return []
    if result.holds:
        return [f"Checked: {result.spot_check.detail}; {result.vacuity.detail}."]
    return [f"NOT ESTABLISHED: {result.report}"]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width)


def _bullets(items: Any, width: int) -> list[str]:
    return [
        line for item in items for line in textwrap.wrap(item, width, initial_indent="  • ", subsequent_indent="    ")
    ]
