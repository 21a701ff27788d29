"""A derivation as text for a terminal, and the formulas of its steps in LaTeX."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import sympy
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation, Meaning
from veriformer.spec.derivations.limits import Limit
from veriformer.spec.derivations.notation import signs_of
from veriformer.spec.derivations.printing import as_latex, drawn, in_words
from veriformer.spec.derivations.results import DerivationResult, StepResult
from veriformer.spec.derivations.steps import Step

_RELATIONS = {"=": "=", "≠": r"\neq", "≥": r"\geq", "→": r"\to"}


def render_text(
    derivation: Derivation, result: DerivationResult | None = None, width: int = 100, first: Sequence[str] = ()
) -> str:
    """A derivation for a terminal: formulas in Unicode, or on one line where they would be wider than `width`.

    The steps named in `first` come first, under their numbers, the others after them.
    """
    lines = [derivation.title, "═" * min(len(derivation.title), width)]
    lines += [*_wrapped(derivation.opening, width), ""] if derivation.opening else []
    lines += _wrapped(f"{derivation.id}: {derivation.scope.meaning}", width)
    symbols = [
        *map(_meaning_text, derivation.symbols),
        *(f"{one.text}: {one.words}" for one in signs_of(derivation.steps)),
    ]
    lines += ["", "Symbols", *_bullets(symbols, width)] if symbols else []
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
    if derivation.see_also:
        lines += ["", *_wrapped(f"See also: {', '.join(derivation.see_also)}", width)]
    return "\n".join(lines) + "\n"


def _step_lines(number: int, step: Step, checked: StepResult | None, width: int) -> list[str]:
    mark = "" if checked is None else "✓ " if checked.holds else "✗ "
    lines = ["", *_wrapped(f"{mark}{number}. {step.name}{' (optional)' if step.optional else ''}", width), ""]
    lines += [textwrap.indent(step_text(step, width - 4), "    ")]
    lines += ["", "where"] if step.where else []
    for definition in step.where:
        lines += ["", textwrap.indent(definition_text(definition, width - 4), "    ")]
    given = _wrapped(f"Given: {'; '.join(step.hypotheses)}.", width) if step.hypotheses else []
    proof = _wrapped(" ".join([f"Proof: {step.method}.", *([checked.sentence] if checked else [])]), width)
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


def _meaning_text(meaning: Meaning) -> str:
    return f"{', '.join(map(in_words, meaning.symbols))}: {meaning.words}"


def _fitting(drawn: str, statement: str, width: int) -> str:
    if max(map(len, drawn.splitlines())) <= width:
        return drawn
    return "\n".join(textwrap.wrap(statement, width, subsequent_indent="  "))


def _result_of(number: int, result: DerivationResult | None) -> StepResult | None:
    return None if result is None else result.steps[number - 1]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width)


def _bullets(items: Any, width: int) -> list[str]:
    return [
        line for item in items for line in textwrap.wrap(item, width, initial_indent="  • ", subsequent_indent="    ")
    ]
