"""Links between the pages lead somewhere: to a file or folder, and to a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


@cache
def fragments(page: Path) -> set[str]:
    """Return the fragments of a page's headings, as GitHub makes them."""
    plain = (heading.lower().strip() for heading in _HEADING.findall(prose(page)))
    kept = ("".join(sign for sign in heading if sign.isalnum() or sign in "-_ ") for heading in plain)
    return {heading.replace(" ", "-") for heading in kept}


def broken(page: Path) -> list[str]:
    found = []
    for target in _LINK.findall(prose(page)):
        if re.match(r"https?://", target):
            continue
        place, _, fragment = target.partition("#")
        file = page if not place else (page.parent / place).resolve()
        if not file.exists() or (fragment and file.suffix == ".md" and fragment not in fragments(file)):
            found.append(target)
    return found


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "interface.md", "laws.md", "masking.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_resolves(page: Path) -> None:
    assert not broken(page)


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading, first\n[a](#a-heading-first) [b](#missing) [c](none.md) [d](page.md)", "utf-8")
    assert broken(page) == ["#missing", "none.md"]


def test_lines_of_the_seed_documents_that_are_linked_exist() -> None:
    text = (ROOT / "docs" / "worked_examples.md").read_text(encoding="utf-8")
    targets = re.findall(r"\(seeds/(\d{3})\.txt#L(\d+)\)", text)
    assert len(targets) > 100
    lengths = {path.stem: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "docs/seeds").glob("*.txt")}
    assert all(1 <= int(line) <= lengths[document] for document, line in targets)
