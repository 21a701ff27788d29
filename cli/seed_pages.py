"""The pages of the audit of the seed documents: all claims, those of one document, and one claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.text import Text
from veriformer.cli.output import page_width
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.reports.layout import Lines, blank, entry, heading, labelled, paragraph
from veriformer.spec.laws import LAWS
from veriformer.spec.seeds import DOCUMENTS, Claim, ClaimVerdict, claims, claims_of

PREFIX = "seeds"

_LABEL = 12
_FRAGMENT = 72
_COLUMN = 22
_MEANINGS = {
    ClaimVerdict.CORRECT: "right as it stands",
    ClaimVerdict.CONDITIONAL: "right under a condition that the document does not state",
    ClaimVerdict.IMPRECISE: "right in what it means, not in what it says",
    ClaimVerdict.WRONG: "an erratum",
}


def seed_identifiers() -> list[str]:
    """Return every id that has a page here."""
    documents = [f"{PREFIX}.{document}" for document in DOCUMENTS]
    return [PREFIX, *documents, *(f"{PREFIX}.{claim.id}" for claim in claims())]


def seed_pages(identifier: str) -> list[Lines]:
    """Return the page of that id, or none: `seeds`, `seeds.000` or `seeds.000.12`."""
    if identifier == PREFIX:
        return [_overview()]
    name = identifier.removeprefix(f"{PREFIX}.")
    if name in DOCUMENTS and name != identifier:
        return [_document_page(name)]
    return [_claim_page(claim) for claim in claims() if identifier == f"{PREFIX}.{claim.id}"]


def _overview() -> Lines:
    lines = [heading(f"What the seed documents claim ({counted(len(claims()), 'claim')})"), blank(), *_counts()]
    for document in DOCUMENTS:
        lines += [blank(), heading(f"Document {document}")]
        lines += [_row(claim) for claim in claims_of(document)]
    return [*lines, blank(), *paragraph(f"{_said(claims())}. One claim: veriformer explain seeds.000.11", page_width())]


def _counts() -> Lines:
    names = "".join(f"{verdict.value:>13}" for verdict in ClaimVerdict)
    rows = [Text(f"{'document':10}{names}{'all':>7}", style="dim")]
    rows += [_count_row(document, claims_of(document)) for document in DOCUMENTS]
    return [*rows, _count_row("all", claims())]


def _count_row(name: str, judged: tuple[Claim, ...]) -> Text:
    verdicts = Counter(claim.verdict for claim in judged)
    numbers = "".join(f"{verdicts[verdict]:>13}" for verdict in ClaimVerdict)
    return Text(f"{name:10}{numbers}{len(judged):>7}")


def _row(claim: Claim) -> Text:
    row = Text(f"  {claim.id:8}{claim.verdict.value:13}", style="dim" if claim.verdict is ClaimVerdict.CORRECT else "")
    return row.append(plain(claim.fragment.replace("\n", " "), _FRAGMENT))


def _document_page(document: str) -> Lines:
    found = claims_of(document)
    lines = [heading(f"Seed document {document} ({_said(found)})")]
    for claim in found:
        place = f"{claim.id:8}{claim.verdict.value}"
        lines += [blank(), *labelled(place, [plain(claim.fragment.replace("\n", " "))], 0, _COLUMN)]
        lines += entry(
            "", f"line {claim.line}. {claim.exact or claim.reason}", page_width(), indent=0, label_width=_COLUMN
        )
    return lines


def _claim_page(claim: Claim) -> Lines:
    lines = [heading(f"{PREFIX}.{claim.id}"), *_entry("", claim.source), blank()]
    lines += labelled("passage", _wrapped(claim.passage.splitlines()), 2, _LABEL)
    lines += labelled("claim", _wrapped(claim.fragment.splitlines()), 2, _LABEL)
    lines += _entry("verdict", f"{claim.verdict.value}: {_MEANINGS[claim.verdict]}")
    if claim.exact:
        lines += _entry("exact", claim.exact)
    if claim.reason:
        return [*lines, blank(), *_entry("not decided", claim.reason)]
    return [*lines, blank(), heading("Decided by"), *_deciders(claim), blank(), heading("To see it run"), *_runs(claim)]


def _deciders(claim: Claim) -> Lines:
    from veriformer.spec.derivations import derivation_title

    lines = [line for law in claim.laws for line in _named("law", law, LAWS[law].statement)]
    for derivation in claim.derivations:
        lines += _named("derivation", derivation, derivation_title(derivation))
        steps = [step.name for step in claim.steps if step.derivation == derivation]
        lines += [line for step in steps for line in _entry("", f"step: {step}")]
    return lines + [line for name in claim.examples for line in _named("example", name, _example(name))]


def _example(name: str) -> str:
    from veriformer.spec.worked_examples.executable import read_values

    record = next(record for record in read_values() if record["id"] == name)
    return f"{record['title']} ({record['verdict']})"


def _runs(claim: Claim) -> Lines:
    commands = [f"veriformer check numpy --law {law}" for law in claim.laws]
    commands += [f"veriformer derive {derivation}" for derivation in claim.derivations]
    commands += [f"veriformer explain {name}" for name in claim.examples]
    return [Text(f"  {command}") for command in commands]


def _named(kind: str, name: str, meaning: str) -> Lines:
    return [*_entry(kind, name), *labelled("", _wrapped([meaning]), 2, _LABEL, "dim")]


def _wrapped(texts: Iterable[str]) -> list[str]:
    """Return lines cut to the width at spaces; a blank line stays."""
    return [
        line.plain for text in texts for line in paragraph(plain(text, 1000), page_width() - _LABEL - 2) or [blank()]
    ]


def _said(judged: tuple[Claim, ...]) -> str:
    verdicts = Counter(claim.verdict for claim in judged)
    counts = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in ClaimVerdict)
    return f"{counted(len(judged), 'claim')}: {counts}"


def _entry(label: str, text: str) -> Lines:
    return entry(label, text, page_width(), indent=2, label_width=_LABEL)
