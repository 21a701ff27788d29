"""Links of pages: those that lead nowhere, and those that the site gains from the names in its text."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from functools import cache
from pathlib import Path

from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

from pages.markdown import link
from pages.references import CONVENTIONS_PAGE, derivation_page, mistake_page, operation_page

_FENCE = re.compile(r"^```.*?^```$|^<div>$.*?^</div>$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
# Fences, headings, links and markup are matched first, so that the names in them stay as they are.
_NAME = re.compile(r"^```.*?^```$|^<div>$.*?^</div>$|^#.*?$|\[[^\]]*\]\([^)]*\)|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
_EXPLAIN = re.compile(r"veriformer (?:explain|derive) ([\w.]+)")


def dead_links(page: Path, folder: Path, home: Path) -> list[str]:
    """Return the links of a page in `folder` that lead to no file, or to no heading of it.

    Links out of the folder are followed from `home`, where the folder's pages stand in the repository.
    """
    return [
        target
        for target in _LINK.findall(_prose(page))
        if not re.match(r"https?://", target) and not _leads_somewhere(target, page, folder, home)
    ]


def with_links(text: str, path: str, pages: Container[str]) -> str:
    """Return the text of the page at `path` with links from what it names: laws, mistakes, derivations and `pages`."""

    def linked(match: re.Match[str]) -> str:
        target = _target(match[1], pages) if match[1] else None
        if target is None or target[0] == path:
            return match[0]
        page, heading = target
        return link(match[0], os.path.relpath(page, os.path.dirname(path) or "."), heading)

    return _NAME.sub(linked, text)


def _target(name: str, pages: Container[str]) -> tuple[str, str] | None:
    """Return the page and the heading that a name or a command is about; nothing for any other code."""
    if name in pages:
        return name, ""
    explained = _EXPLAIN.fullmatch(name)
    target = _entry(explained[1] if explained else name)
    if explained and target is None:
        target = derivation_page(explained[1]), ""
    return target if target and target[0] in pages else None


def _entry(name: str) -> tuple[str, str] | None:
    """Return the entry of a catalogue. A name of one word, such as `softmax`, means other things as well."""
    if name in LAWS:
        return operation_page(LAWS[name].operation.name), name
    if "_" not in name:
        return None
    if name in OPERATIONS:
        return operation_page(name), ""
    if name in CONVENTIONS:
        return CONVENTIONS_PAGE, name
    return (mistake_page(name), "") if name in catalogue() else None


def _leads_somewhere(target: str, page: Path, folder: Path, home: Path) -> bool:
    place, _, fragment = target.partition("#")
    seen_from = home / page.relative_to(folder)
    file = Path(os.path.normpath(seen_from.parent / place)) if place else seen_from
    if file.is_relative_to(home):
        file = folder / file.relative_to(home)
    return file.exists() and (not fragment or file.suffix != ".md" or fragment in _fragments(file))


@cache
def _fragments(page: Path) -> frozenset[str]:
    """Return the fragments of a page's headings as GitHub makes them; `anchor` is not asked, as it makes the links."""
    plain = (heading.lower().strip() for heading in _HEADING.findall(_prose(page)))
    kept = ("".join(sign for sign in heading if sign.isalnum() or sign in "-_ ") for heading in plain)
    return frozenset(heading.replace(" ", "-") for heading in kept)


def _prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))
