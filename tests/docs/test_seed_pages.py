"""The generated pages about the seed documents: complete, and silent about what is not in the catalogues yet."""

from __future__ import annotations

import re
from pathlib import Path

from veriformer.spec.operations import OPERATIONS
from veriformer.spec.seeds import DOCUMENTS, ClaimVerdict, claims, sections

DOCS = Path(__file__).resolve().parents[2] / "docs"
AUDIT = (DOCS / "seeds_audit.md").read_text(encoding="utf-8")
SECTIONS = (DOCS / "seeds_sections.md").read_text(encoding="utf-8")


def test_every_claim_has_its_row_and_wrong_ones_stand_out() -> None:
    verdicts = "|".join(ClaimVerdict)
    pattern = rf"^\| \[(\d{{3}}\.\d+)\]\(seeds/(\d{{3}})\.txt#L(\d+)\) \| `.*` \| (\**)({verdicts})\4 \|"
    rows = re.findall(pattern, AUDIT, re.MULTILINE)
    assert [(name, document, int(line)) for name, document, line, _, _ in rows] == [
        (claim.id, claim.document, claim.line) for claim in claims()
    ]
    assert [verdict for *_, verdict in rows] == [claim.verdict.value for claim in claims()]
    assert all(bool(stars) is (verdict == ClaimVerdict.WRONG) for *_, stars, verdict in rows)


def test_every_section_has_its_row() -> None:
    rows = re.findall(r"^\| \[(\d+)\]\(seeds/(\d{3})\.txt#L\1\) \|", SECTIONS, re.MULTILINE)
    assert rows == [(str(section.line), document) for document in DOCUMENTS for section in sections(document)]


def test_operations_of_sections_exist() -> None:
    named = set(re.findall(r"\[`(\w+)`\]\(operations\.md", SECTIONS))
    assert named == set(OPERATIONS)
