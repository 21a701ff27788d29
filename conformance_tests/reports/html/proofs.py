"""Why a law holds: the steps of the derivation that prove it, or the reason for having none."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.reports.html.blocks import Block, Fold, Mathematics, Prose, Sentence
from veriformer.spec.laws import LawStatement


def proof_blocks(law: LawStatement) -> list[Block]:
    """Return the derivation's steps that a law names, behind a fold."""
    claim = law.claim
    if claim.background is None:
        return [Fold("Why it holds", (Prose(Sentence(_plain_words(claim.reason or ""))),))]
    reason = [Prose(Sentence(_plain_words(claim.reason)))] if claim.reason else []
    blocks = (
        *reason,
        *_steps(claim.background, claim.steps),
        Prose(f"All of it: veriformer explain {law.id}", "quiet"),
    )
    return [Fold("Why it holds" if claim.derivation else "Why it is chosen so", blocks)]


def _steps(identifier: str, names: tuple[str, ...]) -> Iterator[Block]:
    # SymPy takes half a second.
    from veriformer.spec.derivations import load_derivation
    from veriformer.spec.derivations.rendering import definition_latex, step_latex

    derivation = load_derivation(identifier)
    yield Prose(Sentence(f"{derivation.title} (it holds for {derivation.scope.meaning})."))
    if derivation.opening:
        yield Prose(Sentence(derivation.opening))
    for number, step in enumerate(derivation.steps, 1):
        if step.name not in names:
            continue
        yield Prose(Sentence(f"Step {number} of {len(derivation.steps)}: {step.name}."))
        yield Mathematics(step_latex(step))
        for definition in step.where:
            yield Mathematics(definition_latex(definition))
        yield Prose(Sentence(step.why))
        if step.hypotheses:
            yield Prose(Sentence(f"Given: {'; '.join(step.hypotheses)}."), "quiet")


def _plain_words(text: str) -> str:
    """Return a text without the marks of code, which a page has no need of."""
    return text.replace("`", "")
