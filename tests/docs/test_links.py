"""Links between the pages lead somewhere: to a file or folder, and to a heading of it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_CODE = re.compile(r"^```.*?^```$|`[^`]+`", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"\]\(([^()]+)\)")
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])


@pytest.fixture
def links(builder: Any) -> Any:
    """Return the module that finds dead links and makes links of names."""
    return import_module("pages.links")


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "interface.md", "models.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_committed_page_leads_to_a_committed_file(page: Path, links: Any) -> None:
    assert not links.dead_links(page, ROOT, ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_target_of_a_link_holds_no_white_space(page: Path) -> None:
    """Such a link is no link in Markdown: the site would show its text as it was written."""
    assert not broken_targets(page.read_text(encoding="utf-8"))


def test_a_target_that_is_broken_over_two_lines_is_seen() -> None:
    text = "[a](b.md#c-\nd) [e](f g.md) [h](i.md) [j\nk](l.md) `[m](n o)`\n```text\n[p](q r)\n```\n"
    assert broken_targets(text) == ["b.md#c-\nd", "f g.md"]


def broken_targets(text: str) -> list[str]:
    """Return the targets of links with white space in them, apart from those in code."""
    words = _CODE.sub("", text)
    return [target for target in _TARGET.findall(words) if re.search(r"\s", target)]


def test_every_link_of_the_built_pages_resolves(built: Path, links: Any) -> None:
    pages = sorted(built.rglob("*.md"))
    assert len(pages) > 40
    assert not [(page.name, target) for page in pages for target in links.dead_links(page, built, built)]


def test_a_dead_link_is_seen(tmp_path: Path, links: Any) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading, first\n[a](#a-heading-first) [b](#missing) [c](none.md) [d](page.md)", "utf-8")
    assert links.dead_links(page, tmp_path, tmp_path) == ["#missing", "none.md"]


def test_a_link_out_of_a_folder_is_followed_from_where_its_pages_stand(tmp_path: Path, links: Any) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "top.md").write_text("# Top", "utf-8")
    page = tmp_path / "elsewhere" / "built" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text("[a](../top.md) [b](../top.md#top) [c](../none.md)", "utf-8")
    assert links.dead_links(page, page.parent, tmp_path / "docs") == ["../none.md"]


def test_laws_derivations_and_pages_that_are_named_become_links(links: Any) -> None:
    pages = {"laws.md", "derivations/cost.md", "operations/softmax.md", "mistakes/scale_missing.md", "conventions.md"}
    text = "`softmax.shift`, `softmax.*`, `laws.md`, `veriformer explain cost`, `cost`, [`softmax.shift`](x.md)"
    assert links.with_links(text, "seeds/README.md", pages) == (
        "[`softmax.shift`](../operations/softmax.md#softmaxshift), `softmax.*`, [`laws.md`](../laws.md), "
        "[`veriformer explain cost`](../derivations/cost.md), `cost`, [`softmax.shift`](x.md)"
    )
    fence = "# `laws.md`\n\n```text\n`laws.md`\n```"
    assert links.with_links(fence, "index.md", pages) == fence
    assert links.with_links("`softmax.shift`", "operations/softmax.md", pages) == "`softmax.shift`"


def test_a_name_of_one_word_is_not_taken_for_the_entry_of_a_catalogue(links: Any) -> None:
    pages = {"operations/softmax.md", "mistakes/scale_missing.md", "conventions.md"}
    assert links.with_links("`softmax` `numerics`", "index.md", pages) == "`softmax` `numerics`"
    assert links.with_links("`scale_missing` `mask_polarity`", "index.md", pages) == (
        "[`scale_missing`](mistakes/scale_missing.md) [`mask_polarity`](conventions.md#mask_polarity)"
    )


def test_lines_of_the_seed_documents_that_are_linked_exist(generated: dict[str, str]) -> None:
    targets = re.findall(r"\(seeds/(\d{3})\.txt#L(\d+)\)", generated["worked_examples.md"])
    assert len(targets) > 100
    lengths = {path.stem: len(path.read_text("utf-8").splitlines()) for path in (DOCS / "seeds").glob("*.txt")}
    assert all(1 <= int(line) <= lengths[document] for document, line in targets)
