"""Build the site of the documentation, in the folder `documentation`: open documentation/index.html.

    python docs/build.py            bring the tables of hand-written pages up to date, and build the site
    python docs/build.py --check    the same, but only name the hand-written pages whose tables are stale

Pages drawn from the catalogues join those written by hand in `docs/`; Sphinx makes HTML of them, which needs neither a
server nor a network. Exit status 1 when a table is stale, Sphinx warns, or a link of the site is dead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pages.api import api_page
from pages.conventions import conventions_page
from pages.cost import cost_page
from pages.derivations import derivation_pages
from pages.field_tests import field_tests_page
from pages.gallery import gallery_page
from pages.hostile import hostile_page
from pages.interface import interface_page
from pages.kill_matrix import kill_matrix_page
from pages.laws import laws_page
from pages.markdown import fenced_mathematics
from pages.mistake_pages import mistake_pages
from pages.mistakes import mistakes_page
from pages.operations import operations_page
from pages.seeds import seed_pages
from pages.site import build_site, faults
from pages.sources import write_sources
from pages.topics import topic_pages
from pages.worked_examples import seeds_page, worked_examples_page
from veriformer.lessons.pages import lesson_pages

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "documentation"
WORK = HERE.parent / "build" / "documentation"
# Written by hand, with tables that are drawn from the catalogues.
WITH_TABLES = ("interface.md", "seeds/README.md")


def generated_pages() -> dict[str, str]:
    """Return every page that is drawn from the code, by its path in the documentation's folder."""
    return {
        **laws_page(),
        **conventions_page(),
        **operations_page(),
        **topic_pages(),
        **derivation_pages(),
        **cost_page(),
        **worked_examples_page(),
        **field_tests_page(),
        **hostile_page(),
        **interface_page(HERE),
        **seeds_page(HERE),
        **mistakes_page(),
        **api_page(),
        **gallery_page(),
        **mistake_pages(),
        **kill_matrix_page(),
        **seed_pages(),
        **{path: fenced_mathematics(text) for path, text in lesson_pages().items()},
    }


def stale_pages(pages: dict[str, str], folder: Path) -> list[str]:
    """Return the paths of the hand-written pages in `folder` whose tables differ from the catalogues."""
    return [path for path in WITH_TABLES if (folder / path).read_text(encoding="utf-8") != pages[path]]


def write_tables(pages: dict[str, str], folder: Path) -> list[str]:
    """Bring the tables of the hand-written pages in `folder` up to date; return the paths of those that changed."""
    stale = stale_pages(pages, folder)
    for path in stale:
        (folder / path).write_text(pages[path], encoding="utf-8")
    return stale


def main(arguments: list[str] | None = None) -> int:
    """Build the site; 1 when a table is stale, Sphinx warns, or a link is dead."""
    asked = _parsed(arguments)
    pages = generated_pages()
    stale = stale_pages(pages, HERE) if asked.check else []
    if not asked.check:
        _say("brought up to date: docs/{}", write_tables(pages, HERE))
    written = write_sources(pages, asked.work / "sources")
    warned = build_site(asked.work / "sources", asked.folder, asked.work)
    found = faults(asked.folder)
    _say("stale, run python docs/build.py: docs/{}", stale)
    _say("{}", found)
    _say("{}", [f"{len(written)} pages in {asked.folder}, {len(pages)} of them drawn from the code"])
    return 1 if stale or warned or found else 0


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="leave hand-written pages alone, name the stale ones")
    parser.add_argument("--folder", type=Path, default=BUILT, help="where the site goes")
    parser.add_argument("--work", type=Path, default=WORK, help="where its sources are kept, to build faster next time")
    return parser.parse_args(arguments)


def _say(sentence: str, things: list[str]) -> None:
    sys.stdout.writelines(sentence.format(thing) + "\n" for thing in things)


if __name__ == "__main__":
    sys.exit(main())
