"""The generated pages are what `docs/build.py` makes of the catalogues today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids, load_derivation
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import worked_example_ids

DOCS = Path(__file__).resolve().parents[2] / "docs"


def headings(page: str) -> list[str]:
    return re.findall(r"^#{2,3} `([^`]+)`$", page, re.MULTILINE)


def test_committed_pages_are_current(tmp_path: Path) -> None:
    """In a fresh process, with another order of hashing at every run: the pages do not depend on it."""
    command = [sys.executable, str(DOCS / "build.py"), "--check", "--folder", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_stale_pages_are_those_that_are_altered_or_missing(
    builder: Any, generated: dict[str, str], tmp_path: Path
) -> None:
    assert builder.write_committed_pages(generated, tmp_path) == list(builder.COMMITTED)
    assert builder.stale_pages(generated, tmp_path) == []
    (tmp_path / "conventions.md").write_text("# Conventions\n", encoding="utf-8")
    (tmp_path / "hostile.md").unlink()
    stale = ["conventions.md", "hostile.md"]
    assert builder.stale_pages(generated, tmp_path) == stale
    assert builder.write_committed_pages(generated, tmp_path) == stale
    assert builder.stale_pages(generated, tmp_path) == []


def test_a_stale_page_and_a_dead_link_end_with_1_and_are_named(
    builder: Any, generated: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """With the pages made once, which takes seconds; `test_committed_pages_are_current` runs the program itself."""
    command = ["--check", "--folder", str(tmp_path / "pages")]
    monkeypatch.setattr(builder, "generated_pages", lambda: {**generated, "cost.md": "# Costs\n"})
    assert builder.main(command) == 1
    assert "stale, run python docs/build.py: cost.md" in capsys.readouterr().out.splitlines()
    dead = generated["laws.md"].replace("](derivations/index.md)", "](derivations/none.md)")
    monkeypatch.setattr(builder, "generated_pages", lambda: {**generated, "laws.md": dead})
    assert builder.main(command) == 1
    assert "dead link in laws.md: derivations/none.md" in capsys.readouterr().out.splitlines()
    monkeypatch.setattr(builder, "generated_pages", lambda: generated)
    assert builder.main(command) == 0


def test_the_folder_has_every_page_and_nothing_of_an_earlier_build(
    builder: Any, generated: dict[str, str], tmp_path: Path
) -> None:
    builder.write_all_pages(generated, tmp_path)
    (tmp_path / "removed.md").write_text("# Not drawn any more\n", encoding="utf-8")
    written = builder.write_all_pages(generated, tmp_path)
    by_hand = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(written) == by_hand | set(generated)
    assert not (tmp_path / "removed.md").exists()
    assert not list(tmp_path.rglob("build.py"))


def test_a_folder_that_holds_something_else_is_not_replaced(
    builder: Any, generated: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "thesis.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="name another folder"):
        builder.write_all_pages(generated, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.md"]


def test_every_law_operation_and_convention_has_its_entry(generated: dict[str, str]) -> None:
    assert headings(generated["laws.md"]) == [
        entry
        for name in OPERATIONS
        for entry in [name, *(law.id for law in LAWS.values() if law.operation.name == name)]
    ]
    assert headings(generated["operations.md"]) == list(OPERATIONS)
    assert headings(generated["conventions.md"]) == list(CONVENTIONS)


def test_every_derivation_has_its_page_and_names_its_laws(generated: dict[str, str]) -> None:
    index = generated["derivations/index.md"]
    for identifier in derivation_ids():
        proved = [law.id for law in LAWS.values() if law.claim.derivation == identifier]
        page = generated[f"derivations/{identifier}.md"]
        assert bool(proved) != bool(load_derivation(identifier).reason_without_law)
        assert all(f"[`{law}`]" in page and f"[`{law}`]" in index for law in proved)


def test_every_law_links_to_the_steps_that_prove_it(generated: dict[str, str]) -> None:
    page = generated["laws.md"]
    for law in LAWS.values():
        if law.claim.background:
            headings_there = re.findall(
                r"^## (\d+\. .*)$", generated[f"derivations/{law.claim.background}.md"], re.MULTILINE
            )
            for name in law.claim.steps:
                heading = next(heading for heading in headings_there if heading.endswith(f". {name}"))
                assert f"[{heading}](derivations/{law.claim.background}.md#" in page


def test_products_in_proofs_are_not_taken_for_emphasis(generated: dict[str, str]) -> None:
    r"""Two asterisks of a proof's line are bare, those around the word; `\*` is a product."""
    lines = [line for name in derivation_ids() for line in generated[f"derivations/{name}.md"].splitlines()]
    proofs = [line for line in lines if line.startswith("*Proof:*")]
    assert len(proofs) > 100
    assert all(len(re.findall(r"(?<!\\)\*", line)) == 2 for line in proofs)


def test_every_worked_example_stands_once_and_errata_come_first(generated: dict[str, str]) -> None:
    text = generated["worked_examples.md"]
    shown = re.findall(r"^`(seed_\d{3}\.\w+)` · .* · \*\*(\w+)", text, re.MULTILINE)
    assert sorted(name for name, _ in shown) == sorted(worked_example_ids())
    wrong = [verdict == "wrong" for _, verdict in shown]
    assert any(wrong)
    assert wrong == sorted(wrong, reverse=True)


def test_formulas_are_fenced_and_rows_of_a_table_have_as_many_cells_as_its_head(built: Path) -> None:
    """A `$$` block loses backslashes on GitHub, and a bare `|` splits a cell."""
    tables = 0
    for path in built.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert text.count("```") % 2 == 0, path
        assert "$$" not in re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL), path
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
            tables += 1
    assert tables > 100
