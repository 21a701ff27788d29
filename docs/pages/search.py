"""What the search of the site finds: every page and every section of the built site, with its words.

A page that is opened from a file may not read other files, so that the words come as a script; `search.js` looks in
them by MiniSearch. Sphinx's own index has no words to show, and is put aside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from typing import Any

from veriformer.pictures.prose import formula_in_letters

WORDS = "_static/search_words.js"
_SPHINX = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js")
_MADE = frozenset({"search.html", "genindex.html"})
_HEADINGS = ("h1", "h2", "h3")


def write_search(folder: Path) -> int:
    """Write the words of the site's pages as a script; return how many sections there are."""
    pages = [page for page in sorted(folder.rglob("*.html")) if page.relative_to(folder).as_posix() not in _MADE]
    found = [section for page in pages for section in _sections(page, page.relative_to(folder).as_posix())]
    words = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (folder / WORDS).write_text(f"const SEARCHED = {words};\n", encoding="utf-8")
    return len(found)


def put_aside(folder: Path, aside: Path) -> None:
    """Take Sphinx's own index out of the site and keep it: the next build goes on from it."""
    for name in _SPHINX:
        if (folder / name).is_file():
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).replace(aside / name)


def put_back(folder: Path, aside: Path) -> bool:
    """Give Sphinx its index of an earlier build; return whether there is one."""
    kept = [name for name in _SPHINX if (aside / name).is_file() and (folder / name).parent.is_dir()]
    for name in kept:
        copyfile(aside / name, folder / name)
    return len(kept) == len(_SPHINX)


def _sections(page: Path, place: str) -> Iterator[list[str]]:
    """Yield the place, the page's title, the heading and the words of each section; a page begins with itself."""
    from bs4 import BeautifulSoup

    article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").find("article")
    if article is None or article.find("h1") is None:
        return
    _spell(article)
    title = _words(article.find("h1"))
    for section in article.find_all("section"):
        heading = section.find(_HEADINGS, recursive=False)
        if heading is None:
            continue
        address = place if heading.name == "h1" else f"{place}#{section.get('id', '')}"
        shown = "" if heading.name == "h1" else _words(heading)
        yield [address, title, shown, " ".join(filter(None, map(_words, _own(section, heading))))]


def _spell(article: Any) -> None:
    """Put formulas in Unicode in the place of their elements; leave out what nobody looks for."""
    for formula in article.find_all("math"):
        formula.replace_with(formula_in_letters(formula.get("alttext", "")))
    for left_out in article.find_all(["script", "style", "svg", "wbr"]) + article.find_all(class_="headerlink"):
        left_out.decompose()
    article.smooth()


def _own(section: Any, heading: Any) -> list[Any]:
    """Return what is in a section and not in one inside it."""
    return [child for child in section.find_all(recursive=False) if child is not heading and child.name != "section"]


def _words(element: Any) -> str:
    # Inside a sentence names end where their element does, cells and list items do not.
    for block in element.find_all(["td", "th", "li", "p", "dt", "dd", "pre", "div"]):
        block.append(" ")
    return " ".join(element.get_text().split())
