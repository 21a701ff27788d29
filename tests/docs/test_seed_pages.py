"""The generated pages about the seed documents: complete, and silent about what is not in the catalogues yet."""

from __future__ import annotations

import re

from veriformer.spec.operations import OPERATIONS
from veriformer.spec.seeds import DOCUMENTS, ClaimVerdict, claims, sections


def test_every_claim_has_its_row_and_wrong_ones_stand_out(generated: dict[str, str]) -> None:
    verdicts = "|".join(ClaimVerdict)
    pattern = rf"^\| \[(\d{{3}}\.\d+)\]\(seeds/(\d{{3}})\.txt#L(\d+)\) \| `.*` \| (\**)({verdicts})\4 \|"
    rows = re.findall(pattern, generated["seeds_audit.md"], re.MULTILINE)
    assert [(name, document, int(line)) for name, document, line, _, _ in rows] == [
        (claim.id, claim.document, claim.line) for claim in claims()
    ]
    assert [verdict for *_, verdict in rows] == [claim.verdict.value for claim in claims()]
    assert all(bool(stars) is (verdict == ClaimVerdict.WRONG) for *_, stars, verdict in rows)


def test_every_section_has_its_row(generated: dict[str, str]) -> None:
    rows = re.findall(r"^\| \[(\d+)\]\(seeds/(\d{3})\.txt#L\1\) \|", generated["seeds_sections.md"], re.MULTILINE)
    assert rows == [(str(section.line), document) for document in DOCUMENTS for section in sections(document)]


def test_operations_of_sections_exist(generated: dict[str, str]) -> None:
    named = set(re.findall(r"\[`(\w+)`\]\(operations/", generated["seeds_sections.md"]))
    assert named == set(OPERATIONS)
