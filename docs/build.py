"""Draw pages of the documentation from the catalogues, and put all pages together in one folder.

    python docs/build.py            bring the committed pages up to date, and write all pages to documentation/
    python docs/build.py --check    the same, but only name the committed pages that are stale

The folder is complete: the pages written by hand, those drawn from the code, and the files that they link to. Exit
status 1 when a committed page is stale or a link is dead.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from pages.conventions import conventions_page
from pages.cost import cost_page
from pages.derivations import derivation_pages
from pages.field_tests import field_tests_page
from pages.hostile import hostile_page
from pages.interface import interface_page
from pages.kill_matrix import kill_matrix_page
from pages.laws import laws_page
from pages.links import dead_links, with_links
from pages.mistakes import mistakes_page
from pages.operations import operations_page
from pages.seeds import seed_pages
from pages.worked_examples import seeds_page, worked_examples_page

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "documentation"
# Short, and linked to by the README; the others are drawn only when they are asked for.
COMMITTED = ("conventions.md", "cost.md", "hostile.md", "interface.md", "seeds/README.md")
_NO_PAGES = shutil.ignore_patterns("build.py", "check_pages.py", "pages", "__pycache__")


def generated_pages() -> dict[str, str]:
    """Return every page that is drawn from the code, by its path in the documentation's folder."""
    return {
        **laws_page(),
        **conventions_page(),
        **operations_page(),
        **derivation_pages(),
        **cost_page(),
        **worked_examples_page(),
        **field_tests_page(),
        **hostile_page(),
        **interface_page(HERE),
        **seeds_page(HERE),
        **mistakes_page(),
        **kill_matrix_page(),
        **seed_pages(),
    }


def stale_pages(pages: dict[str, str], folder: Path) -> list[str]:
    """Return the paths of the committed pages that are missing in `folder` or differ."""
    return [path for path in COMMITTED if _read(folder / path) != pages[path]]


def write_committed_pages(pages: dict[str, str], folder: Path) -> list[str]:
    """Bring the committed pages in `folder` up to date and return the paths of those that were written."""
    stale = stale_pages(pages, folder)
    for path in stale:
        _write(folder / path, pages[path])
    return stale


def write_all_pages(pages: dict[str, str], folder: Path) -> list[str]:
    """Replace `folder` by all pages, with what they link to, and return their paths.

    Laws and generated pages that the text only names become links there. FileExistsError when the folder holds
    something else than an earlier build.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "laws.md").is_file():
        raise FileExistsError(f"{folder} was not written by docs/build.py and would be replaced; name another folder")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE, folder, ignore=_NO_PAGES)
    by_hand = {path: _read(folder / path) or "" for path in _markdown(folder)}
    for path, text in {**by_hand, **pages}.items():
        _write(folder / path, with_links(text, path, pages))
    return _markdown(folder)


def main(arguments: list[str] | None = None) -> int:
    """Build the pages; 1 when a committed page is stale or a link is dead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="leave the committed pages alone, name the stale ones")
    parser.add_argument("--folder", type=Path, default=BUILT, help="where all pages go")
    asked = parser.parse_args(arguments)
    pages = generated_pages()
    stale = stale_pages(pages, HERE) if asked.check else []
    if not asked.check:
        _say("committed page brought up to date: {}", write_committed_pages(pages, HERE))
    written = write_all_pages(pages, asked.folder)
    dead = [f"{path}: {target}" for path in written for target in dead_links(asked.folder / path, asked.folder, HERE)]
    _say("stale, run python docs/build.py: {}", stale)
    _say("dead link in {}", dead)
    _say("{}", [f"{len(written)} pages in {asked.folder}, {len(pages)} of them drawn from the code"])
    return 1 if stale or dead else 0


def _markdown(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _say(sentence: str, things: list[str]) -> None:
    sys.stdout.writelines(sentence.format(thing) + "\n" for thing in things)


if __name__ == "__main__":
    sys.exit(main())
