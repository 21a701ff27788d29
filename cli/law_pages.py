"""The page of one law: what it says, why that matters, what is given, the formula, and where its proof is."""

from __future__ import annotations

from veriformer.cli.output import page_width
from veriformer.cli.pages import derivation_lines
from veriformer.conformance_tests.mistakes import Mistake, catalogue, caught_by
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, paragraph
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.laws import LAWS, LawStatement

_LABEL = 14


def law_page(law: LawStatement, *, proof: bool = False) -> Lines:
    """Return a law: statement and consequence, what is given, formula, source, and its proof if asked for."""
    lines = [heading(law.id), *paragraph(f"{law.statement} {_why_it_matters(law)}", page_width()), blank()]
    lines += _entry("operation", law.operation.name)
    lines += [line for number, given in enumerate(_given(law)) for line in _entry("" if number else "given", given)]
    lines += _entry("formula", f"(1)  {law.claim.formula}")
    lines += _reason(law, proof=proof)
    lines += _entry("source", law.claim.source)
    lines += _entry("tier", "must" if law.obligation == "must" else "should: correct libraries are known to differ")
    others = [other.id for other in LAWS.values() if other.claim is law.claim and other.id != law.id]
    lines += _entry("also", ", ".join(others)) if others else []
    lines += _entry("catches", ", ".join(caught_by(law.id))) if caught_by(law.id) else []
    if not proof or law.claim.background is None:
        return lines
    return [*lines, blank(), *derivation_lines(law.claim.background, law.claim.steps, proof=True)]


def _why_it_matters(law: LawStatement) -> str:
    """Return what programs do that break the law, or else what it rests on, as a sentence."""
    known = [catalogue()[slug] for slug in caught_by(law.id)]
    if known:
        return f"Programs break it by mistakes such as {_in_words(max(known, key=lambda one: _telling(one, law)))}."
    if law.claim.derivation:
        from veriformer.spec.derivations import derivation_title

        return f"It follows from a derivation: {derivation_title(law.claim.derivation)}."
    return f"Why it is a law: {(law.claim.reason or '').rstrip('.')}."


def _in_words(mistake: Mistake) -> str:
    return f"{mistake.slug} ({mistake.sentence.rstrip('.')})"


def _telling(mistake: Mistake, law: LawStatement) -> tuple[float, int]:
    """Return how much a mistake says about a law: the laws that it breaks are of one family, and it is often met."""
    families = [_family(LAWS[identifier]) for identifier in mistake.laws]
    return families.count(_family(law)) / len(families), len(mistake.citations)


def _family(law: LawStatement) -> str:
    return law.claim.key.partition(".")[0]


def _given(law: LawStatement) -> list[str]:
    """Return what must be given for the law to say anything: keywords, conventions, and what its proof assumes."""
    keywords = " and ".join(law.features)
    given = [f"the keyword{'s' if len(law.features) > 1 else ''} {keywords}"] if law.features else []
    given += [f"the convention {name}: {CONVENTIONS[name].question}" for name in law.claim.conventions]
    if law.claim.derivation is None:
        return given
    from veriformer.spec.derivations import load_derivation

    steps = {step.name: step for step in load_derivation(law.claim.derivation).steps}
    assumed = dict.fromkeys(one for name in law.claim.steps for one in steps[name].hypotheses)
    return [*given, f"in the proof: {'; '.join(assumed)}"] if assumed else given


def _reason(law: LawStatement, *, proof: bool) -> Lines:
    """Return by which steps the law is proved, or why there is no proof and why the law was chosen."""
    claim = law.claim
    lines = [] if claim.derivation else _entry("no derivation", claim.reason or "")
    if claim.background is None:
        return lines
    where = "below" if proof else f"veriformer explain {law.id} --proof"
    steps = _steps(claim.background, claim.steps)
    if claim.derivation:
        return _entry("proof", f"(1) is proved by {steps} of {claim.derivation} ({where})")
    return [*lines, *_entry("why so chosen", f"{steps} of {claim.background} ({where})")]


def _steps(identifier: str, names: tuple[str, ...]) -> str:
    from veriformer.spec.derivations import load_derivation

    numbers = {step.name: number for number, step in enumerate(load_derivation(identifier).steps, 1)}
    text = " and ".join(f"{numbers[name]} “{name}”" for name in names)
    return f"{'step' if len(names) == 1 else 'steps'} {text}"


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
