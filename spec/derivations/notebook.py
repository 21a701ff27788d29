"""A derivation as HTML for a notebook, with formulas that a browser draws."""

from __future__ import annotations

from veriformer.pictures.html import Entry, card
from veriformer.pictures.model import Formula
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.notation import signs_of
from veriformer.spec.derivations.printing import as_latex
from veriformer.spec.derivations.rendering import definition_latex, step_latex
from veriformer.spec.derivations.steps import Step


def render_html(derivation: Derivation) -> str:
    """The question, the symbols, the assumptions, and each step with its formula and what is given."""
    entries = [Entry(derivation.opening)] if derivation.opening else []
    entries += [Entry(f"{derivation.id} holds for {derivation.scope.meaning}."), *_symbols(derivation)]
    entries += [Entry(assumption, "assumption") for assumption in derivation.assumptions]
    for number, step in enumerate(derivation.steps, 1):
        entries += _step(number, step)
    entries += [Entry(remark, "remark") for remark in derivation.remarks]
    return card(derivation.title, *entries, *(Entry(source.citation, "source") for source in derivation.sources))


def _symbols(derivation: Derivation) -> list[Entry]:
    """Each symbol as a formula, its meaning as the label."""
    own = [(", ".join(map(as_latex, symbols)), words) for symbols, words in derivation.symbols]
    signs = [(sign.latex, sign.words) for sign in signs_of(derivation.steps)]
    return [Entry(Formula(latex), words) for latex, words in (*own, *signs)]


def _step(number: int, step: Step) -> list[Entry]:
    name = f"{number}. {step.name}{' (optional)' if step.optional else ''}"
    definitions = [Entry(Formula(definition_latex(definition)), "where") for definition in step.where]
    given = [Entry("; ".join(step.hypotheses), "given")] if step.hypotheses else []
    return [Entry(Formula(step_latex(step)), name), *definitions, *given, Entry(step.why)]
