"""A derivation as Markdown with LaTeX, as GitHub and MyST read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from veriformer.spec.derivations.catalogue import derivation_title
from veriformer.spec.derivations.derivation import Derivation
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.notation import signs_of
from veriformer.spec.derivations.printing import as_latex
from veriformer.spec.derivations.rendering import definition_latex, step_latex
from veriformer.spec.derivations.results import DerivationResult, StepResult
from veriformer.spec.derivations.rules import Rule
from veriformer.spec.derivations.steps import Step

_OPTIONAL = "*Optional:* no law rests on this step."


def render_markdown(derivation: Derivation, result: DerivationResult | None = None) -> str:
    """The question, the symbols, the assumptions, each step with its formula and proof, the rules and the sources.

    With a result, every step says what its checks found.
    """
    checked: Sequence[StepResult | None] = result.steps if result else [None] * len(derivation.steps)
    lines = [f"# {derivation.title}", "", *_paragraph(derivation.opening)]
    lines += [f"`{derivation.id}` holds for {derivation.scope.meaning}.", "", *_see_also(derivation.see_also)]
    lines += [*_symbols(derivation), *_listed("Assumptions", derivation.assumptions)]
    for number, (step, found) in enumerate(zip(derivation.steps, checked, strict=True), 1):
        lines += _step(number, step, found)
    lines += _listed("Rules of proof", _rules(derivation.steps))
    lines += _listed("Remarks", derivation.remarks)
    lines += _listed("Sources", (source.citation for source in derivation.sources))
    lines += _paragraph(derivation.reason_without_law, "**No law names it.** ")
    return "\n".join(lines)


def _step(number: int, step: Step, found: StepResult | None) -> list[str]:
    lines = [f"## {number}. {step.name}", "", *_paragraph(_OPTIONAL if step.optional else "")]
    lines += [f"$$ {step_latex(step)} $$", "", *_paragraph("where" if step.where else "")]
    for definition in step.where:
        lines += [f"$$ {definition_latex(definition)} $$", ""]
    lines += _paragraph(f"*Given:* {'; '.join(step.hypotheses)}." if step.hypotheses else "")
    lines += [step.why, "", *_proof(step)]
    return [*lines, "", *_paragraph(found.sentence if found else "")]


def _proof(step: Step) -> list[str]:
    """How a step is proved; a certificate is a formula of its own."""
    if not isinstance(step, Inequality):
        return [f"*Proof:* {step.short_method}."]
    certificate = " = ".join(map(as_latex, step.certificate_forms))
    return [
        f"*Proof:* by {step.prover.name} left − right is",
        "",
        f"$$ {certificate} $$",
        "",
        "which is ≥ 0 by its form.",
    ]


def _rules(steps: Sequence[Step]) -> list[str]:
    """Each rule once, with the steps that it proves and what it rests on."""
    rules: dict[Rule, list[int]] = {}
    for number, step in enumerate(steps, 1):
        for rule in step.rules:
            rules.setdefault(rule, []).append(number)
    return [f"*{rule.name}* ({steps_in_words(numbers)}): {rule.rests_on}." for rule, numbers in rules.items()]


def steps_in_words(numbers: Sequence[int]) -> str:
    """The numbers of steps, those in a row as a range: "steps 1–3 and 7"."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and rows[-1][-1] == number - 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    # Two in a row are no range.
    parts = [f"{row[0]}–{row[-1]}" if len(row) > 2 else ", ".join(map(str, row)) for row in rows]
    listed = ", ".join(parts)
    before, comma, last = listed.rpartition(", ")
    return f"{'step' if len(numbers) == 1 else 'steps'} {f'{before} and {last}' if comma else listed}"


def _symbols(derivation: Derivation) -> list[str]:
    rows = [(", ".join(f"${as_latex(one)}$" for one in symbols), words) for symbols, words in derivation.symbols]
    rows += [(f"${sign.latex}$", sign.words) for sign in signs_of(derivation.steps)]
    if not rows:
        return []
    return ["| symbol | meaning |", "| --- | --- |", *(f"| {symbols} | {words} |" for symbols, words in rows), ""]


def _see_also(identifiers: Sequence[str]) -> list[str]:
    links = "; ".join(f"[{derivation_title(one)}]({one}.md)" for one in identifiers)
    return _paragraph(links and f"See also: {links}.")


def _listed(heading: str, items: Iterable[str]) -> list[str]:
    bullets = [f"- {item}" for item in items]
    return [f"**{heading}**", "", *bullets, ""] if bullets else []


def _paragraph(text: str | None, before: str = "") -> list[str]:
    return [f"{before}{text}", ""] if text else []
