"""`seeds_audit.md`: every claim of the seed documents; `seeds_sections.md`: what answers to each of their sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase

from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.seeds import DOCUMENTS, Claim, ClaimVerdict, Section, Topic, claims, claims_of, sections

from pages.markdown import code, link, notice, page, table
from pages.references import law_link, operation_link

AUDIT = "seeds_audit.md"
SECTIONS = "seeds_sections.md"

_SOURCE = "spec/seeds"
_AUDIT = """\
What the [five seed documents](seeds/README.md) claim, sentence by sentence. *Correct* is right as it stands,
*conditional* right under a condition that the document does not state, *imprecise* right in what it means but not in
what it says, *wrong* an erratum. A claim is decided by [laws](laws.md), by steps of
[derivations](derivations/index.md) and by [worked examples](worked_examples.md); where none of them can decide it, the
reason is given. Numbers are recomputed from the worked examples by a test, to the last digit shown.

`veriformer explain seeds.000.11` shows one claim with the passage around it, and what to run to see it decided;
`veriformer explain seeds` lists them all."""
_SECTIONS = """\
Every section of the [five seed documents](seeds/README.md), and what answers to it: operations and derivations of the
specification, functions of the reference, and laws: each pattern with the number of laws that it stands for.
`veriformer check` takes the patterns: `veriformer check numpy --law 'attention.causal.*'`. What the documents claim in
their sections, and whether it is right, is in [seeds_audit.md](seeds_audit.md)."""


def seed_pages() -> dict[str, str]:
    """Return both pages by their paths."""
    audit = (page(f"## Document {document}", _claims(claims_of(document))) for document in DOCUMENTS)
    found = (page(f"## Document {document}", _section_table(sections(document))) for document in DOCUMENTS)
    return {
        AUDIT: page(notice(_SOURCE), "# Claims of the seed documents", _AUDIT, _verdicts(), *audit),
        SECTIONS: page(notice(_SOURCE), "# Sections of the seed documents", _SECTIONS, *found),
    }


def _verdicts() -> str:
    rows = [_count(document, claims_of(document)) for document in DOCUMENTS]
    return table(("document", *ClaimVerdict, "all"), [*rows, _count("all", claims())])


def _count(name: str, judged: Iterable[Claim]) -> tuple[str, ...]:
    verdicts = Counter(claim.verdict for claim in judged)
    return name, *(str(verdicts[verdict]) for verdict in ClaimVerdict), str(verdicts.total())


def _claims(judged: Iterable[Claim]) -> str:
    return table(("claim", "the document's words", "verdict", "what is right", "decided by"), map(_claim_row, judged))


def _claim_row(claim: Claim) -> tuple[str, ...]:
    place = link(claim.id, f"seeds/{claim.document}.txt#L{claim.line}")
    emphasis = "**" if claim.verdict is ClaimVerdict.WRONG else ""
    words = code(" ".join(claim.fragment.split()))
    return place, words, f"{emphasis}{claim.verdict}{emphasis}", claim.exact, _decided(claim)


def _decided(claim: Claim) -> str:
    if claim.reason:
        return f"Nothing: {claim.reason}"
    laws = [law_link(LAWS[law]) for law in claim.laws]
    return "; ".join(filter(None, [", ".join(laws), *_proofs(claim), ", ".join(map(code, claim.examples))]))


def _proofs(claim: Claim) -> Iterable[str]:
    for derivation in claim.derivations:
        steps = (f"“{step.name}”" for step in claim.steps if step.derivation == derivation)
        yield f"{_derivation(derivation)}: {', '.join(steps)}"


def _section_table(found: Iterable[Section]) -> str:
    return table(("line", "section", "operations", "derivations", "reference", "laws"), map(_section_row, found))


def _section_row(section: Section) -> tuple[str, ...]:
    place = link(str(section.line), f"seeds/{section.document}.txt#L{section.line}")
    heading = section.heading.replace("`", "")
    if section.reason:
        return place, heading, f"*{section.reason}*", "", "", ""
    computed = _each(topic.operations for topic in section.topics)
    operations = computed + _each(topic.black_boxes for topic in section.topics)
    functions = _each([computed, *(topic.functions for topic in section.topics)])
    globs = _each(_globs(topic) for topic in section.topics)
    return (
        place,
        heading,
        ", ".join(map(operation_link, operations)),
        ", ".join(map(_derivation, _each(topic.derivations for topic in section.topics))),
        ", ".join(map(code, functions)),
        ", ".join(f"{code(glob)} {_matching(glob)}" for glob in globs),
    )


def _each(groups: Iterable[Iterable[str]]) -> list[str]:
    """Return the names of all groups, each once."""
    return list(dict.fromkeys(name for group in groups for name in group))


def _globs(topic: Topic) -> tuple[str, ...]:
    return topic.laws or tuple(f"{OPERATIONS[name].prefix}.*" for name in topic.operations + topic.black_boxes)


def _matching(glob: str) -> int:
    return sum(fnmatchcase(law, glob) for law in LAWS)


def _derivation(name: str) -> str:
    return link(code(name), f"derivations/{name}.md")
