"""A derivation as Markdown with LaTeX, and as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any

import sympy
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.limits import Limit
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
        lines += [f"## {number}. {step.name}", "", f"$$ {step_latex(step)} $$", "", f"{step.why}", ""]
        if step.hypotheses:
            lines += [f"*Given:* {'; '.join(f'`{given}`' for given in step.hypotheses)}.", ""]
        lines += [f"*Proof:* {step.method}.{_checks_sentence(_result_of(number, result))}", ""]
    if derivation.remarks:
        lines += ["**Remarks**", "", *(f"- {remark}" for remark in derivation.remarks), ""]
    if derivation.reason_without_law:
        lines += [f"**No law names it.** {derivation.reason_without_law}", ""]
    return "\n".join(lines)


def render_text(derivation: Derivation, result: DerivationResult | None = None, width: int = 100) -> str:
    """The same for a terminal: formulas in Unicode, or on one line where they would be wider than `width`."""
    lines = [derivation.title, "═" * min(len(derivation.title), width)]
    lines += _wrapped(f"{derivation.id}: {derivation.scope.meaning}", width)
    lines += ["", "Assumptions", *_bullets(derivation.assumptions, width)]
    lines += [
        "",
        "Sources",
        *_bullets([source.citation for source in derivation.sources], width),
    ]
    for number, step in enumerate(derivation.steps, 1):
        checked = _result_of(number, result)
        mark = "" if checked is None else "✓ " if checked.holds else "✗ "
        lines += [
            "",
            *_wrapped(f"{mark}{number}. {step.name}", width),
            "",
            textwrap.indent(step_text(step, width - 4), "    "),
        ]
        lines += [
            "",
            *_wrapped(step.why, width),
            *_wrapped(f"Proof: {step.method}.{_checks_sentence(checked)}", width),
        ]
    if derivation.remarks:
        lines += ["", "Remarks", *_bullets(derivation.remarks, width)]
    if derivation.reason_without_law:
        lines += ["", *_wrapped(f"No law names it. {derivation.reason_without_law}", width)]
    return "\n".join(lines) + "\n"


def step_latex(step: Step) -> str:
    """The statement of a step in LaTeX."""
    if step.display is not None:
        return step.display
    left, right = (sympy.latex(sympy.sympify(side)) for side in (step.left, step.right))
    if isinstance(step, Limit):
        return rf"\lim_{{{sympy.latex(step.variable)} \to {sympy.latex(step.point)}}} {left} = {right}"
    return f"{left} {_RELATIONS[step.relation]} {right}"


def step_text(step: Step, width: int = 96) -> str:
    """The statement of a step in Unicode art, or on one line where that would be too wide."""
    sides = [sympy.pretty(sympy.sympify(side), use_unicode=True, wrap_line=False) for side in (step.left, step.right)]
    joined = _side_by_side(sides[0], f" {step.relation} ", sides[1])
    if isinstance(step, Limit):
        joined += f"\n({step.variable} → {step.point})"
    if max(map(len, joined.splitlines())) <= width:
        return joined
    return "\n".join(textwrap.wrap(step.statement, width, subsequent_indent="  "))


def _side_by_side(left: str, relation: str, right: str) -> str:
    from sympy.printing.pretty.stringpict import prettyForm, stringPict

    blocks: list[Any] = []
    for text in (left, relation, right):
        rows = text.splitlines()
        wide = max(map(len, rows))
        blocks.append(stringPict("\n".join(row.ljust(wide) for row in rows), baseline=len(rows) // 2))
    return "\n".join(line.rstrip() for line in str(prettyForm(*stringPict.next(*blocks))).splitlines())


def _result_of(number: int, result: DerivationResult | None) -> StepResult | None:
    return None if result is None else result.steps[number - 1]


def _checks_sentence(result: StepResult | None) -> str:
    if result is None:
        return ""
    if result.holds:
        return f" Checked: {result.spot_check.detail}; {result.vacuity.detail}."
    return f" NOT ESTABLISHED: {result.report}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width)


def _bullets(items: Any, width: int) -> list[str]:
    return [
        line for item in items for line in textwrap.wrap(item, width, initial_indent="  • ", subsequent_indent="    ")
    ]
