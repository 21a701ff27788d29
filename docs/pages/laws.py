"""`laws.md`: every law, operation by operation."""

from __future__ import annotations

from veriformer.spec.derivations import derivation_title, load_derivation
from veriformer.spec.laws import LAWS, LawStatement
from veriformer.spec.operations import OPERATIONS, Operation

from pages.markdown import code, counted, link, notice, page

PATH = "laws.md"

_TIERS = {"must": "must", "should": "should (correct libraries are known to differ)"}
_INTRODUCTION = """\
A law is one statement about one operation, under an id that is never renumbered or reused. Either a
[derivation](derivations/index.md) proves it, or it says why there is none. An implementation is asked for a law only
where it has the operation and every keyword that the law needs; any other law is reported as *not declared*.

The tier is `must`, or `should` where correct libraries are known to differ. Both count alike for the verdict."""


def laws_page() -> dict[str, str]:
    """Return the page of all laws, by its path."""
    contents = "\n".join(_contents_line(operation) for operation in OPERATIONS.values())
    sections = (_section(operation) for operation in OPERATIONS.values())
    return {PATH: page(notice("spec/laws"), "# Laws", _INTRODUCTION, _totals(), contents, *sections)}


def law_link(law: LawStatement, folder: str = "") -> str:
    """Return a link to a law's entry; `folder` leads from the linking page to the documentation's folder."""
    return link(code(law.id), folder + PATH, law.id)


def laws_of(operation: Operation) -> list[LawStatement]:
    """Return the laws stated of an operation, in the catalogue's order."""
    return [law for law in LAWS.values() if law.operation is operation]


def _totals() -> str:
    derived = [law.claim.derivation for law in LAWS.values() if law.claim.derivation is not None]
    return (
        f"There are {counted(len(LAWS), 'law')} of {counted(len(OPERATIONS), 'operation')}; "
        f"{counted(len(set(derived)), 'derivation')} prove {len(derived)} of them."
    )


def _contents_line(operation: Operation) -> str:
    return f"- {link(code(operation.name), '', operation.name)}: {counted(len(laws_of(operation)), 'law')}"


def _section(operation: Operation) -> str:
    entries = (_entry(law) for law in laws_of(operation))
    about = f"{operation.summary} {link('The operation', 'operations.md', operation.name)}."
    return page(f"## {code(operation.name)}", about, *entries)


def _entry(law: LawStatement) -> str:
    facts = [f"- Formula: {code(law.formula)}", f"- Tier: {_TIERS[law.obligation]}"]
    if law.features:
        facts.append(f"- Needs the keyword{'s' * (len(law.features) > 1)}: {', '.join(map(code, law.features))}")
    if law.claim.conventions:
        named = (link(code(name), "conventions.md", name) for name in law.claim.conventions)
        facts.append(f"- Conventions: {', '.join(named)}")
    facts += [f"- Source: {law.claim.source}", _proof(law)]
    return page(f"### {code(law.id)}", law.statement, "\n".join(facts))


def _proof(law: LawStatement) -> str:
    claim = law.claim
    if claim.background is None:
        return f"- No derivation: {claim.reason}"
    told = f"{link(derivation_title(claim.background), f'derivations/{claim.background}.md')}, {_steps(law)}"
    return f"- Proved in: {told}" if claim.derivation else f"- No derivation: {claim.reason}. Why so: {told}"


def _steps(law: LawStatement) -> str:
    derivation = load_derivation(law.claim.background or "")
    headings = {step.name: f"{number}. {step.name}" for number, step in enumerate(derivation.steps, 1)}
    links = (link(headings[name], f"derivations/{derivation.id}.md", headings[name]) for name in law.claim.steps)
    return f"step{'s' * (len(law.claim.steps) > 1)} {' and '.join(links)}"
