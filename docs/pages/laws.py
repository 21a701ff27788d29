"""`laws.md`: every law, operation by operation; and the entry of a law on its operation's page."""

from __future__ import annotations

from veriformer.conformance_tests.mistakes import caught_by
from veriformer.spec.laws import LAWS, LawStatement
from veriformer.spec.operations import OPERATIONS, Operation

from pages.markdown import code, counted, formula, notice, page
from pages.references import convention_link, derivation_link, law_link, mistake_link, operation_link, step_links

PATH = "laws.md"

_TIERS = {"must": "must", "should": "should (correct libraries are known to differ)"}
_INTRODUCTION = """\
A law is one statement about one operation, under an id that is never renumbered or reused. Either a
[derivation](derivations/index.md) proves it, or it says why there is none. An implementation is asked for a law only
where it has the operation and every keyword that the law needs; any other law is reported as *not declared*.

The tier is `must`, or `should` where correct libraries are known to differ. Both count alike for the verdict. The id
leads to the law's formula, its source, its proof, and the mistakes that it catches."""


def laws_page() -> dict[str, str]:
    """Return the page of all laws, by its path."""
    sections = (_section(operation) for operation in OPERATIONS.values())
    return {PATH: page(notice("spec/laws"), "# Laws", _INTRODUCTION, _totals(), *sections)}


def laws_of(operation: Operation) -> list[LawStatement]:
    """Return the laws stated of an operation, in the catalogue's order."""
    return [law for law in LAWS.values() if law.operation is operation]


def law_entry(law: LawStatement) -> str:
    """Return everything about a law, as a section of its operation's page."""
    facts = [f"- Formula: {formula(law.formula)}", f"- Tier: {_TIERS[law.obligation]}"]
    if law.features:
        facts.append(f"- Needs the keyword{'s' * (len(law.features) > 1)}: {', '.join(map(code, law.features))}")
    if law.claim.conventions:
        facts.append(f"- Conventions: {', '.join(convention_link(name, '../') for name in law.claim.conventions)}")
    facts += [f"- Source: {law.claim.source}", _proof(law)]
    if caught := caught_by(law.id):
        facts.append(f"- Catches: {', '.join(mistake_link(slug, '../') for slug in caught)}")
    return page(f"### {code(law.id)}", law.statement, "\n".join(facts))


def _totals() -> str:
    derived = [law.claim.derivation for law in LAWS.values() if law.claim.derivation is not None]
    return (
        f"There are {counted(len(LAWS), 'law')} of {counted(len(OPERATIONS), 'operation')}; "
        f"{counted(len(set(derived)), 'derivation')} prove {len(derived)} of them."
    )


def _section(operation: Operation) -> str:
    laws = laws_of(operation)
    about = f"{operation.summary} {operation_link(operation.name)} has {counted(len(laws), 'law')}."
    listed = "\n".join(f"- {law_link(law)}: {law.statement}" for law in laws)
    return page(f"## {code(operation.name)}", about, listed)


def _proof(law: LawStatement) -> str:
    claim = law.claim
    if claim.background is None:
        return f"- No derivation: {claim.reason}"
    place = f"{derivation_link(claim.background, '../')}, {step_links(claim.background, claim.steps, '../')}"
    return f"- Proved in: {place}" if claim.derivation else f"- No derivation: {claim.reason}. Why so: {place}"
