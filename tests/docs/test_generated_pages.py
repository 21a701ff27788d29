"""The generated pages are what `docs/build.py` makes of the catalogues today."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids, load_derivation
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import worked_example_ids

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def builder() -> Iterator[Any]:
    """Return the module docs/build.py, imported as it is when it is run as a program."""
    sys.path.insert(0, str(DOCS))
    try:
        yield import_module("build")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def pages(builder: Any) -> dict[str, str]:
    generated: dict[str, str] = builder.generated_pages()
    return generated


@pytest.fixture
def folder(pages: dict[str, str], tmp_path: Path) -> Path:
    for path, text in pages.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def headings(name: str) -> list[str]:
    return re.findall(r"^#{2,3} `([^`]+)`$", read(name), re.MULTILINE)


def test_pages_are_current() -> None:
    """In a fresh process, with another order of hashing at every run: the pages do not depend on it."""
    command = [sys.executable, str(DOCS / "build.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_stale_pages_are_those_that_are_altered_missing_or_left_over(
    builder: Any, pages: dict[str, str], folder: Path
) -> None:
    assert builder.stale_pages(pages, folder) == []
    (folder / "laws.md").write_text(pages["laws.md"].replace("sum to one", "sum to two"), encoding="utf-8")
    (folder / "operations.md").unlink()
    (folder / "derivations" / "removed.md").write_text("# Not derived any more\n", encoding="utf-8")
    stale = ["laws.md", "operations.md", "derivations/removed.md"]
    assert builder.stale_pages(pages, folder) == stale
    assert builder.write_pages(pages, folder) == stale
    assert builder.stale_pages(pages, folder) == []


def test_check_ends_with_1_and_names_what_is_stale(
    builder: Any,
    pages: dict[str, str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the pages made once, which takes seconds; `test_pages_are_current` makes them in the program itself."""
    monkeypatch.setattr(builder, "generated_pages", lambda: pages)
    (folder / "conventions.md").write_text("# Conventions\n", encoding="utf-8")
    assert builder.main(["--check", "--folder", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["conventions.md"]
    assert (folder / "conventions.md").read_text("utf-8") == "# Conventions\n"
    assert builder.main(["--folder", str(folder)]) == 0
    assert builder.main(["--check", "--folder", str(folder)]) == 0


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
        assert bool(proved) != bool(load_derivation(identifier).reason_without_law)
        assert all(f"[`{law}`]" in page and f"[`{law}`]" in index for law in proved)


def test_every_law_links_to_the_steps_that_prove_it(pages: dict[str, str]) -> None:
    page = pages["laws.md"]
    for law in LAWS.values():
        if law.claim.background:
            headings_there = re.findall(
                r"^## (\d+\. .*)$", pages[f"derivations/{law.claim.background}.md"], re.MULTILINE
            )
            for name in law.claim.steps:
                heading = next(heading for heading in headings_there if heading.endswith(f". {name}"))
                assert f"[{heading}](derivations/{law.claim.background}.md#" in page


def test_products_in_proofs_are_not_taken_for_emphasis() -> None:
    r"""Two asterisks of a proof's line are bare, those around the word; `\*` is a product."""
    lines = [line for name in derivation_ids() for line in read(f"derivations/{name}.md").splitlines()]
    proofs = [line for line in lines if line.startswith("*Proof:*")]
    assert len(proofs) > 100
    assert all(len(re.findall(r"(?<!\\)\*", line)) == 2 for line in proofs)


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
    assert text.count("```") % 2 == 0
    assert "$$" not in re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
