"""The claims of the five seed documents, sentence by sentence: the verdict, the correct statement, and what decides it.

Data that loads without SymPy. Laws, steps of derivations and worked examples decide a claim; if none of them can, the
claim says why. The sections of the documents are here too, each with the project's material on it.
"""

from __future__ import annotations

from functools import cache

from veriformer.spec.seeds.claim import Claim, ClaimVerdict, ProofStep
from veriformer.spec.seeds.reading import read_claims, read_sections
from veriformer.spec.seeds.section import Section, Topic

__all__ = [
    "DOCUMENTS",
    "Claim",
    "ClaimVerdict",
    "ProofStep",
    "Section",
    "Topic",
    "claims",
    "claims_of",
    "sections",
]

DOCUMENTS = ("000", "001", "002", "003", "004")


@cache
def claims_of(document: str) -> tuple[Claim, ...]:
    """Return the claims of one document in its order; KeyError where there is no such document."""
    _require(document)
    return tuple(sorted(read_claims(document), key=lambda claim: claim.line))


def claims() -> tuple[Claim, ...]:
    """Return all claims, document by document."""
    return tuple(claim for document in DOCUMENTS for claim in claims_of(document))


@cache
def sections(document: str) -> tuple[Section, ...]:
    """Return the sections of one document, from beginning to end; KeyError where there is no such document."""
    _require(document)
    return read_sections(document)


def _require(document: str) -> None:
    if document not in DOCUMENTS:
        raise KeyError(f"no seed document is called {document!r}; there are {', '.join(DOCUMENTS)}")
