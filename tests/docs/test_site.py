"""The site: what Sphinx makes of pages, and what is found wrong with a built one. The whole is built by `.ci/run`."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests.reports.schemas import schema

# Of Sphinx's future, which its extensions have yet to follow.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")
FORMULA = r"\frac{QK^\top}{\sqrt{d_k}}"
PAGES = {
    "index.md": "# First\n\nSee [below](#second) and $x_i$.\n\n## Second\n\n```{toctree}\nother.md\n```\n",
    "other.md": f"# Other\n\n```math\n{FORMULA}\n```\n\n[back](index.md#second)\n",
}


@pytest.fixture(scope="session")
def site(builder: Any) -> Any:
    """Return the module that makes HTML of the sources."""
    return import_module("pages.site")


def build(site: Any, pages: dict[str, str], folder: Path) -> bool:
    (folder / "sources").mkdir(parents=True)
    for name, text in pages.items():
        (folder / "sources" / name).write_text(text, encoding="utf-8")
    warned: bool = site.build_site(folder / "sources", folder / "html", folder / "work")
    return warned


@pytest.fixture(scope="session")
def small(site: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of two pages, built with the configuration of the whole."""
    folder = tmp_path_factory.mktemp("small")
    assert not build(site, PAGES, folder)
    return folder / "html"


def test_formulas_become_mathml_without_latex(small: Path, site: Any) -> None:
    other = (small / "other.html").read_text(encoding="utf-8")
    assert "<mfrac>" in other
    assert "<msqrt>" in other
    assert 'display="block"' in other
    assert "<msub>" in (small / "index.html").read_text(encoding="utf-8")
    assert site.faults(small) == []


def test_schemas_of_reports_have_an_address_that_stays(small: Path, site: Any, tmp_path: Path) -> None:
    for command in ("check", "compare", "identify"):
        assert json.loads((small / "schemas" / f"{command}-1.json").read_text(encoding="utf-8")) == schema(command)
    sources = import_module("pages.sources")
    written = "[`check-1.json`](../conformance_tests/reports/schemas/check-1.json)"
    linked = sources._links_inside(written, "interface.md", {}, tmp_path)
    assert linked == '<a href="schemas/check-1.json">check-1.json</a>'


def test_nothing_is_loaded_from_a_network(small: Path) -> None:
    for page in small.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)="([^"]*)"', text)
        assert loaded
        assert not [address for address in loaded if "//" in address]
    for style in small.rglob("*.css"):
        assert not re.findall(r"@import|url\(['\"]?https?:", style.read_text(encoding="utf-8")), style


def test_the_style_of_pictures_and_the_index_of_the_search_are_there(small: Path) -> None:
    assert ".vf-picture" in (small / "_static" / "pictures.css").read_text(encoding="utf-8")
    assert "pictures.css" in (small / "other.html").read_text(encoding="utf-8")
    assert "search_words.js" in (small / "search.html").read_text(encoding="utf-8")
    words = (small / "_static" / "search_words.js").read_text(encoding="utf-8")
    assert words.startswith("const SEARCHED = [[")
    # Formulas are found in Unicode, sections under their own address.
    assert '["index.html","First","","See below and xᵢ."]' in words
    assert '["index.html#second","First","Second","Other"]' in words


def test_the_formulas_of_titles_are_set_and_in_unicode_where_there_are_no_tags(site: Any, tmp_path: Path) -> None:
    formula = {**PAGES, "other.md": "# Dividing by √d_k\n\nIt keeps the variance.\n"}
    assert not build(site, formula, tmp_path)
    other, index = ((tmp_path / "html" / name).read_text(encoding="utf-8") for name in ("other.html", "index.html"))
    assert "<title>Dividing by √dₖ" in other
    assert re.search(r"<h1>Dividing by <math\b.*<msqrt>", other)
    assert re.search(r'<link\b[^>]*title="Dividing by √dₖ"', index)
    navigation = index.partition('class="sidebar-tree"')[2].partition("</div>")[0]
    assert re.search(r'href="other.html">Dividing by <math\b', navigation)
    assert '["other.html","Dividing by √dₖ","","It keeps the variance."]' in (
        tmp_path / "html" / "_static" / "search_words.js"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("link", ["[nowhere](none.md)", "[nowhere](#none)", "[nowhere](other.md#none)"])
def test_a_dead_link_is_a_warning(link: str, site: Any, tmp_path: Path, capsys: Any) -> None:
    assert build(site, {**PAGES, "index.md": PAGES["index.md"] + f"\n{link}\n"}, tmp_path)
    assert "none" in capsys.readouterr().err


def test_a_page_that_is_removed_goes_from_the_site_and_others_stay(site: Any, tmp_path: Path) -> None:
    assert not build(site, PAGES, tmp_path)
    (tmp_path / "sources" / "other.md").unlink()
    index = PAGES["index.md"].partition("\n```{toctree}")[0]
    (tmp_path / "sources" / "index.md").write_text(index, encoding="utf-8")
    assert not site.build_site(tmp_path / "sources", tmp_path / "html", tmp_path / "work")
    assert {page.name for page in (tmp_path / "html").glob("*.html")} == {"index.html", "search.html"}


def test_a_folder_that_holds_something_else_is_not_replaced(site: Any, tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "thesis.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="name another folder"):
        build(site, PAGES, tmp_path)
    assert [path.name for path in (tmp_path / "html").iterdir()] == ["thesis.md"]


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ('<a href="none.html">x</a>', "dead link in page.html: none.html"),
        ('<a class="x" href="#none">x</a>', "dead link in page.html: #none"),
        ('<a href="page.html#none">x</a>', "dead link in page.html: page.html#none"),
        ('<script src="https://example.org/x.js"></script>', "page.html loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "page.html loads //example.org/x.css"),
        ('<img alt="x" src="http://example.org/x.png">', "page.html loads http://example.org/x.png"),
        (r"<p>\sqrt{d}</p>", r"page.html shows LaTeX: \sqrt"),
        ("<p>$$ x $$</p>", "page.html shows LaTeX: $$"),
    ],
)
def test_each_fault_of_a_page_is_found(markup: str, fault: str, site: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f"<html>{markup}</html>", encoding="utf-8")
    assert fault in site.faults(tmp_path)


def test_what_is_right_is_no_fault(site: Any, tmp_path: Path) -> None:
    markup = (
        '<p id="here">x</p> <a href="#here">y</a> <a href="page.html">z</a> <a href="https://example.org">elsewhere</a>'
        r"<code>\sqrt</code> <pre>$$</pre>"
    )
    (tmp_path / "page.html").write_text(markup, encoding="utf-8")
    assert site.faults(tmp_path) == []
