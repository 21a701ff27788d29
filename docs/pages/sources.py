"""The sources of the site: all pages as Sphinx reads them, with their navigation and links that stay inside the site.

A page reads the same here as on GitHub. What is added: links from the names of laws, mistakes and pages; the tables of
contents that make the navigation; and the pages of the repository outside `docs/`, such as the README.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from pages.derivations import READING_ORDER
from pages.links import with_links
from pages.pictures import block
from pages.references import derivation_page, topic_page
from pages.site import SCHEMAS
from pages.topic import topics

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
_SCHEMAS_AT_HOME = "conformance_tests/reports/schemas/"
# Pages that stand outside docs/, where the repository has them, and their place in the site.
_OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
_NAVIGATION = {
    "Use": (
        "Overview <readme.md>",
        "first_steps.md",
        "report.md",
        "interface.md",
        "models.md",
        "porting.md",
        "how_it_works.md",
        "continuous_integration.md",
        "built_in.md",
        "own_laws.md",
        "own_operation.md",
    ),
    "Learn": ("learn.md", "learn/index.md", "derivations/index.md"),
    "Look up": (
        "api.md",
        "operations.md",
        "laws.md",
        "conventions.md",
        "mistakes_caught.md",
        "gallery.md",
        "worked_examples.md",
        "cost.md",
    ),
    "How far it can be trusted": (
        "measured.md",
        "findings.md",
        "kill_matrix.md",
        "detection_floor.md",
        "historical.md",
        "never_drawn.md",
        "hostile.md",
        "field_tests.md",
        "speed.md",
        "How it is measured <benchmarks.md>",
    ),
    "The project": (
        "Seed documents <seeds/README.md>",
        "seeds_audit.md",
        "seeds_sections.md",
        "contributing.md",
        "changelog.md",
    ),
}
_FENCE_OR_LINK = re.compile(
    r"^```.*?^```$|^<div>$.*?^</div>$|`[^`\n]+`(?!\])|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
_ADDRESS = re.compile(r"[a-z]+:|#")


def write_sources(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Write every page, and the files that they link to; return the paths of the pages.

    A page that has not changed keeps its time, so that Sphinx reads only what has.
    """
    texts = {**_by_hand(), **_seed_documents(), **pages}
    folder.mkdir(parents=True, exist_ok=True)
    kept = {path: _source(path, texts[path], texts, folder) for path in texts}
    for stale in {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")} - kept.keys():
        (folder / stale).unlink()
    for path, text in kept.items():
        _write(folder / path, text)
    return sorted(kept)


def _by_hand() -> dict[str, str]:
    """Return the pages that are written by hand, by their place in the site."""
    found = {path.relative_to(DOCS): path for path in DOCS.rglob("*.md")}
    inside = {place.as_posix(): path for place, path in found.items() if "site" not in place.parts}
    outside = {place: ROOT / home for home, place in _OUTSIDE.items()}
    return {place: path.read_text(encoding="utf-8") for place, path in {**inside, **outside}.items()}


def _seed_documents() -> dict[str, str]:
    """Return the seed documents as pages with an address for each line."""
    return {f"seeds/{path.stem}.md": _numbered(path) for path in sorted((DOCS / "seeds").glob("*.txt"))}


def _numbered(document: Path) -> str:
    lines = enumerate(document.read_text(encoding="utf-8").splitlines(), 1)
    text = "\n".join(f'<span id="L{number}">{escape(line, quote=False) or " "}</span>' for number, line in lines)
    shown = block(f'<pre class="numbered">{text}</pre>')
    return f"# Document {document.stem}\n\n{shown}\n"


def _source(path: str, text: str, texts: Mapping[str, str], folder: Path) -> str:
    linked = _links_inside(with_links(text, path, texts), path, texts, folder)
    contents = _contents(path)
    if path == "index.md" or path in _in_navigation():
        return f"{linked.rstrip()}\n{contents}"
    return f"---\norphan: true\n---\n\n{linked}"


def _in_navigation() -> set[str]:
    listed = {re.sub(r".*<(.*)>", r"\1", entry) for entries in _NAVIGATION.values() for entry in entries}
    derivations = {derivation_page(name) for names in READING_ORDER.values() for name in names}
    return listed | derivations | {topic_page(topic.name) for topic in topics()}


def _contents(path: str) -> str:
    """Return the tables of contents at the end of a page, which only the navigation shows."""
    if path == "index.md":
        return "".join(_table_of_contents(entries, caption) for caption, entries in _NAVIGATION.items())
    if path == "derivations/index.md":
        return _table_of_contents([f"/{derivation_page(name)}" for names in READING_ORDER.values() for name in names])
    if path == "operations.md":
        return _table_of_contents([topic_page(topic.name) for topic in topics()])
    return ""


def _table_of_contents(entries: Iterable[str], caption: str = "") -> str:
    listed = "\n".join(entries)
    titled = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{titled}\n{listed}\n```\n"


def _links_inside(text: str, path: str, texts: Mapping[str, str], folder: Path) -> str:
    """Return a page whose links lead to pages of the site, to files beside them, or to other sites."""
    homes = {place: home for home, place in _OUTSIDE.items()}
    home = homes.get(path, f"docs/{path}")

    def inside(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or _ADDRESS.match(target):
            return match[0]
        place, mark, fragment = target.partition("#")
        found = os.path.normpath(os.path.join(os.path.dirname(home), place))
        if found.startswith(_SCHEMAS_AT_HOME):
            address = os.path.relpath(f"{SCHEMAS}/{os.path.basename(found)}", os.path.dirname(path) or ".")
            return f'<a href="{address}">{match["text"].replace("`", "")}</a>'
        address = _address(found, path, texts, folder)
        if address is None:
            return match["text"]
        if found.endswith(".txt") and fragment:
            return f'<a href="{address.removesuffix(".md")}.html#{fragment}">{match["text"]}</a>'
        words = _title(found, texts) if match["text"].strip("`").endswith(".md") else match["text"]
        return f"{match['image']}[{words}]({address}{mark}{fragment})"

    return _FENCE_OR_LINK.sub(inside, text)


def _title(found: str, texts: Mapping[str, str]) -> str:
    """Return the title of a page, which says more than its file's name."""
    heading = re.search(r"^# (.+)$", texts[_place(found)], re.MULTILINE)
    return heading[1] if heading else found


def _address(found: str, path: str, texts: Mapping[str, str], folder: Path) -> str | None:
    """Return where a file of the repository is, seen from a page of the site; None where the site does not have it."""
    place = _place(found)
    if place not in texts:
        if not found.startswith("docs/") or not (ROOT / found).is_file():
            return None
        _copy(ROOT / found, folder / place)
    return os.path.relpath(place, os.path.dirname(path) or ".")


def _place(found: str) -> str:
    """Return the place in the site of a file of the repository, if it has one there."""
    place = _OUTSIDE.get(found) or found.removeprefix("docs/")
    is_seed = found.startswith("docs/seeds/") and found.endswith(".txt")
    return f"{place.removesuffix('.txt')}.md" if is_seed else place


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
