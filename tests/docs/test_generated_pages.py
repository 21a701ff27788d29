"""The generated pages are what `docs/build.py` makes of the catalogues today."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import worked_example_ids

DOCS = Path(__file__).resolve().parents[2] / "docs"


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DOCS / "build.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def headings(name: str) -> list[str]:
    return re.findall(r"^#{2,3} `([^`]+)`$", read(name), re.MULTILINE)


def test_pages_are_current() -> None:
    run = build("--check")
    assert run.returncode == 0, run.stdout + run.stderr


def test_check_names_pages_that_are_altered_missing_or_left_over(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "laws.md").write_text(read("laws.md").replace("sum to one", "sum to two"), encoding="utf-8")
    (folder / "operations.md").unlink()
    (folder / "derivations" / "removed.md").write_text("# Not derived any more\n", encoding="utf-8")
    run = build("--check", "--folder", str(folder))
    assert run.returncode == 1
    assert run.stdout.splitlines()[1:] == ["laws.md", "operations.md", "derivations/removed.md"]
    build("--folder", str(folder))
    assert build("--check", "--folder", str(folder)).returncode == 0
    assert not (folder / "derivations" / "removed.md").exists()


def test_every_law_operation_and_convention_has_its_entry() -> None:
    assert headings("laws.md") == [
        entry
        for name in OPERATIONS
        for entry in [name, *(law.id for law in LAWS.values() if law.operation.name == name)]
    ]
    assert headings("operations.md") == list(OPERATIONS)
    assert headings("conventions.md") == list(CONVENTIONS)


def test_every_derivation_has_its_page_and_names_its_laws() -> None:
    index = read("derivations/index.md")
    for identifier in derivation_ids():
        proved = [law.id for law in LAWS.values() if law.claim.derivation == identifier]
        page = read(f"derivations/{identifier}.md")
        assert proved
        assert all(f"[`{law}`]" in page and f"[`{law}`]" in index for law in proved)


def test_every_worked_example_stands_once_and_errata_come_first() -> None:
    text = read("worked_examples.md")
    shown = re.findall(r"^`(seed_\d{3}\.\w+)` · .* · \*\*(\w+)", text, re.MULTILINE)
    assert sorted(name for name, _ in shown) == sorted(worked_example_ids())
    wrong = [verdict == "wrong" for _, verdict in shown]
    assert any(wrong)
    assert wrong == sorted(wrong, reverse=True)


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_formulas_are_fenced_and_rows_of_a_table_have_as_many_cells_as_its_head(path: Path) -> None:
    """A `$$` block loses backslashes on GitHub, and a bare `|` splits a cell."""
    text = path.read_text(encoding="utf-8")
    assert "$$" not in text
    assert text.count("```") % 2 == 0
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
