"""From the sources to HTML, and what must hold of it: no dead link, nothing loaded from elsewhere, no raw LaTeX."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from veriformer.conformance_tests.reports.schemas import COMMANDS, file_name, schema_text

from pages.search import put_aside, put_back, write_search

CONFIGURATION = Path(__file__).resolve().parents[1] / "site"
# Where the schemas of reports stand in the site: an address that stays.
SCHEMAS = "schemas"

# Pages that Sphinx makes without a source.
_OWN = {"search.html", "genindex.html"}
_LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"')
_LOADED = re.compile(r'<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc="([^"]*)"|<link\b[^>]*?\bhref="([^"]*)"')
_ID = re.compile(r'\b(?:id|name)="([^"]+)"')
_NOT_PROSE = re.compile(r"<(script|style|code|pre|math|title)\b.*?</\1>|<[^>]*>", re.DOTALL)
_LATEX = re.compile(r"\$\$|\\[a-zA-Z]{2,}")
# What the theme leaves out for those who hear a page, have no mouse, or a narrow window: icons stand on buttons that
# have words, what can be scrolled can be reached by keyboard, and a long name may be broken after a mark.
_BETTER = (
    (re.compile(r'<svg( class="[^"]*")?><use'), r'<svg\1 aria-hidden="true"><use'),
    (re.compile(r'<p class="caption" role="heading">'), '<p class="caption" role="heading" aria-level="2">'),
    (
        re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)'),
        lambda name: re.sub(r"([_./])(?=\w)", r"\1<wbr />", name[0]),
    ),
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<div class="(table-wrapper[^"]*)">'), r'<div class="\1" tabindex="0">'),
)
_ELSEWHERE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


def build_site(sources: Path, folder: Path, work: Path) -> bool:
    """Make HTML of the sources in `folder`; return whether Sphinx had warnings, which it prints.

    FileExistsError when the folder holds something else than an earlier build.
    """
    from sphinx.cmd.build import build_main

    _make_room(folder, sources)
    if not put_back(folder, work / "search"):
        # Without its index Sphinx cannot go on from an earlier build.
        shutil.rmtree(work / "doctrees", ignore_errors=True)
    options = ["-b", "html", "-c", str(CONFIGURATION), "-d", str(work / "doctrees"), "-j", "auto", "-q", "-W"]
    warned = build_main([*options, str(sources), str(folder)]) != 0
    for page in folder.rglob("*.html"):
        _improve(page)
    _write_schemas(folder / SCHEMAS)
    write_search(folder)
    put_aside(folder, work / "search")
    return warned


def _write_schemas(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for command in COMMANDS:
        (folder / file_name(command)).write_text(schema_text(command), encoding="utf-8")


def _improve(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    better = text
    for found, instead in _BETTER:
        better = found.sub(instead, better)
    if better != text:
        page.write_text(better, encoding="utf-8")


def _make_room(folder: Path, sources: Path) -> None:
    """Remove what an earlier build left and this one would not write."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / "objects.inv").is_file():
        if not (folder / "laws.md").is_file():
            raise FileExistsError(
                f"{folder} was not written by docs/build.py and would be replaced; name another folder"
            )
        shutil.rmtree(folder)
    for page in folder.rglob("*.html"):
        path = page.relative_to(folder)
        if path.as_posix() not in _OWN and not (sources / path.with_suffix(".md")).is_file():
            page.unlink()


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the pages of a built site, a sentence each."""
    return [fault for page in sorted(folder.rglob("*.html")) for fault in _faults(page, folder)]


def _faults(page: Path, folder: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(folder).as_posix()
    for target in sorted({*_LINK.findall(text)}):
        if not _leads_somewhere(page, target):
            yield f"dead link in {name}: {target}"
    for found in _LOADED.findall(text):
        if _ELSEWHERE.match("".join(found)):
            yield f"{name} loads {''.join(found)}"
    for found in _LATEX.findall(_NOT_PROSE.sub(" ", text)):
        yield f"{name} shows LaTeX: {found}"


def _leads_somewhere(page: Path, target: str) -> bool:
    if _ELSEWHERE.match(target) or target.startswith("mailto:"):
        return True
    place, _, fragment = target.partition("#")
    file = Path(os.path.normpath(page.parent / unquote(place))) if place else page
    return file.is_file() and (not fragment or file.suffix != ".html" or unquote(fragment) in _ids(file))


@cache
def _ids(page: Path) -> frozenset[str]:
    return frozenset(_ID.findall(page.read_text(encoding="utf-8")))
