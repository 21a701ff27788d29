"""Write the generated pages of the documentation, or say which of them are stale.

    python docs/build.py            write the pages
    python docs/build.py --check    write nothing; exit status 1 and the names of the pages that are stale

The pages are drawn from the catalogues of `veriformer.spec`, and from the catalogue of mistakes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pages.conventions import conventions_page
from pages.cost import cost_page
from pages.derivations import FOLDER, derivation_pages
from pages.field_tests import field_tests_page
from pages.hostile import hostile_page
from pages.interface import interface_page
from pages.kill_matrix import kill_matrix_page
from pages.laws import laws_page
from pages.mistakes import mistakes_page
from pages.operations import operations_page
from pages.seeds import seed_pages
from pages.worked_examples import seeds_page, worked_examples_page

HERE = Path(__file__).resolve().parent


def generated_pages() -> dict[str, str]:
    """Return every generated page by its path, seen from the documentation's folder."""
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
    """Return the paths of the pages in `folder` that are missing, differ, or are no longer generated."""
    changed = [path for path, text in pages.items() if _read(folder / path) != text]
    return changed + [path for path in _derivation_files(folder) if path not in pages]


def write_pages(pages: dict[str, str], folder: Path) -> list[str]:
    """Bring `folder` up to date and return the paths that were written or removed."""
    stale = stale_pages(pages, folder)
    for path in stale:
        if path in pages:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(pages[path], encoding="utf-8")
        else:
            (folder / path).unlink()
    return stale


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them; 1 when a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    parser.add_argument("--folder", type=Path, default=HERE, help="another folder to write to or to check")
    asked = parser.parse_args(arguments)
    pages = generated_pages()
    if not asked.check:
        written = write_pages(pages, asked.folder)
        _say(f"{len(written)} of {len(pages)} pages changed", *written)
        return 0
    stale = stale_pages(pages, asked.folder)
    if stale:
        _say(f"{len(stale)} pages are stale; run: python docs/build.py", *stale)
    else:
        _say(f"{len(pages)} pages are current")
    return 1 if stale else 0


def _derivation_files(folder: Path) -> list[str]:
    return sorted(f"{FOLDER}/{path.name}" for path in (folder / FOLDER).glob("*.md"))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
