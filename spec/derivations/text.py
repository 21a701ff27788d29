"""A derivation as text for a terminal: each formula has a number and stands on one line, or is split where it must."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from veriformer.pictures.formulas import one_line
from veriformer.spec.derivations.catalogue import derivation_title
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.markdown import rules_with_steps, steps_in_words
from veriformer.spec.derivations.notation import signs_of
from veriformer.spec.derivations.printing import in_one_line, in_words
from veriformer.spec.derivations.rendering import definition_latex, step_latex
from veriformer.spec.derivations.results import DerivationResult, StepResult
from veriformer.spec.derivations.splitting import split_formula
from veriformer.spec.derivations.steps import Step

_INDENT = 4
_NUMBER = 6


def render_text(
    derivation: Derivation,
    result: DerivationResult | None = None,
    width: int = 100,
    first: Sequence[str] = (),
    *,
    proof: bool = True,
) -> str:
    """The question, what is given, and each step with its formula; with `proof` also why it holds, and by which rule.

    The steps named in `first` come first, under their numbers, the others after them.
    """
    lines = [derivation.title, "═" * min(len(derivation.title), width), *_wrapped(derivation.opening, width)]
    lines += _listed("Symbols", _symbols(derivation), width)
    lines += _listed("Given", (f"This holds for {derivation.scope.meaning}.", *derivation.assumptions), width)
    lines += _steps(derivation, result, width, first, proof)
    lines += _listed("Rules of proof", _rules(derivation.steps), width) if proof else []
    lines += _listed("Remarks", derivation.remarks, width)
    lines += _listed("Sources", (source.citation for source in derivation.sources), width)
    if derivation.reason_without_law:
        lines += ["", *_wrapped(f"No law names it. {derivation.reason_without_law}", width)]
    lines += _listed("See also", (f"{one}: {derivation_title(one)}" for one in derivation.see_also), width)
    return "\n".join(lines) + "\n"


def step_lines(number: int, step: Step, width: int = 100) -> list[str]:
    """The formula of a step with its number, and what the names in it stand for."""
    lines = _numbered(number, one_line(step_latex(step)), width)
    for place, definition in enumerate(step.where):
        lines += _formula(definition_text(definition), width, "and " if place else "where ")
    return lines


def definition_text(definition: Definition) -> str:
    """What a name stands for, on one line."""
    return one_line(definition_latex(definition))


def _steps(
    derivation: Derivation, result: DerivationResult | None, width: int, first: Sequence[str], proof: bool
) -> list[str]:
    numbered = list(enumerate(derivation.steps, 1))
    named = [(number, step) for number, step in numbered if step.name in first]
    others = [(number, step) for number, step in numbered if step.name not in first]

    def shown(number: int, step: Step) -> list[str]:
        return _step(number, step, None if result is None else result.steps[number - 1], width, proof)

    lines = [line for number, step in named for line in shown(number, step)]
    if named and others:
        lines += ["", "The other steps"]
    return [*lines, *(line for number, step in others for line in shown(number, step))]


def _step(number: int, step: Step, checked: StepResult | None, width: int, proof: bool) -> list[str]:
    mark = "" if checked is None else "✓ " if checked.holds else "✗ "
    lines = ["", *_wrapped(f"{mark}{number}. {step.name}{' (optional)' if step.optional else ''}", width)]
    lines += step_lines(number, step, width)
    lines += _wrapped(f"Given: {'; '.join(step.hypotheses)}." if step.hypotheses else "", width, _INDENT)
    if proof:
        lines += [*_wrapped(step.why, width, _INDENT), *_proof(number, step, width)]
    return lines + _wrapped(checked.sentence if checked else "", width, _INDENT)


def _proof(number: int, step: Step, width: int) -> list[str]:
    """How a step is proved; a certificate is a formula of its own."""
    if not isinstance(step, Inequality):
        return _wrapped(f"Proof of ({number}): {step.short_method}.", width, _INDENT)
    certificate = " = ".join(map(in_one_line, step.certificate_forms))
    return [
        *_wrapped(f"Proof of ({number}): by {step.prover.name} the left side minus the right side is", width, _INDENT),
        *_formula(certificate, width),
        *_wrapped("which is ≥ 0 by its form.", width, _INDENT),
    ]


def _numbered(number: int, formula: str, width: int) -> list[str]:
    first, *more = _formula(formula, width)
    return [f"{' ' * _INDENT}{f'({number})':<{_NUMBER}}{first.strip()}", *more]


def _formula(formula: str, width: int, before: str = "") -> list[str]:
    margin = " " * (_INDENT + _NUMBER)
    rows = split_formula(formula, width - len(margin) - len(before))
    return [f"{margin}{before if place == 0 else ' ' * len(before)}{row}" for place, row in enumerate(rows)]


def _symbols(derivation: Derivation) -> list[str]:
    own = [f"{', '.join(map(in_words, symbols))}: {words}" for symbols, words in derivation.symbols]
    return [*own, *(f"{sign.text}: {sign.words}" for sign in signs_of(derivation.steps))]


def _rules(steps: Sequence[Step]) -> list[str]:
    rules = rules_with_steps(steps)
    return [f"{rule.name} ({steps_in_words(numbers)}): {rule.rests_on}." for rule, numbers in rules.items()]


def _listed(heading: str, items: Iterable[str], width: int) -> list[str]:
    bullets = [
        line
        for item in items
        for line in textwrap.wrap(
            _readable(item), width, initial_indent="  • ", subsequent_indent="    ", break_on_hyphens=False
        )
    ]
    return ["", heading, *bullets] if bullets else []


def _wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(
        _readable(text), width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    )


def _readable(text: str) -> str:
    """A text with the formulas in Unicode that a quoted source has in LaTeX: between dollars, or a whole quotation."""
    return re.sub(r"\$([^$]+)\$|(?<=“)([^”]*\\[^”]*)(?=”)", lambda formula: one_line(formula[1] or formula[2]), text)
