"""The generated pages are what `docs/build.py` makes of the catalogues today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.mistakes.kills import shown_in
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import worked_example_ids

_NOT_PROSE = re.compile(r"^```.*?^```$|^<div>$.*?^</div>$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
DOCS = Path(__file__).resolve().parents[2] / "docs"


def anchor(heading: str) -> str:
    """Return the fragment by which GitHub addresses a heading; `pages.markdown` is not asked, as it makes the links."""
    kept = "".join(sign for sign in heading.lower() if sign.isalnum() or sign in "-_ ")
    return kept.replace(" ", "-")


def entry_of(law: str, generated: dict[str, str]) -> str:
    """Return the section about a law."""
    page = generated[f"operations/{LAWS[law].operation.name}.md"]
    return page.partition(f"### `{law}`\n")[2].partition("\n### ")[0]


def headings(page: str) -> list[str]:
    return re.findall(r"^#{2,3} `([^`]+)`$", page, re.MULTILINE)


def test_tables_of_hand_written_pages_are_current() -> None:
    """In a fresh process, with another order of hashing at every run: the tables do not depend on it."""
    script = (
        "from build import HERE, interface_page, seeds_page, stale_pages\n"
        "print(stale_pages({**interface_page(HERE), **seeds_page(HERE)}, HERE))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=DOCS, capture_output=True, text=True, check=False)
    assert run.stdout == "[]\n", run.stdout + run.stderr


def test_stale_pages_are_those_whose_tables_are_altered(
    builder: Any, generated: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "seeds").mkdir()
    for path in builder.WITH_TABLES:
        (tmp_path / path).write_text(generated[path], encoding="utf-8")
    assert builder.stale_pages(generated, tmp_path) == []
    (tmp_path / "interface.md").write_text("# The interface\n", encoding="utf-8")
    assert builder.stale_pages(generated, tmp_path) == ["interface.md"]
    assert builder.write_tables(generated, tmp_path) == ["interface.md"]
    assert builder.stale_pages(generated, tmp_path) == []


@pytest.mark.parametrize(
    ("stale", "warned", "found", "status"),
    [
        ([], False, [], 0),
        (["interface.md"], False, [], 1),
        ([], True, [], 1),
        ([], False, ["dead link in a.html: b"], 1),
    ],
)
def test_whatever_is_wrong_ends_with_1_and_is_named(
    stale: list[str],
    warned: bool,
    found: list[str],
    status: int,
    builder: Any,
    tmp_path: Path,
    capsys: Any,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(builder, "generated_pages", dict)
    monkeypatch.setattr(builder, "stale_pages", lambda *_: stale)
    monkeypatch.setattr(builder, "build_site", lambda *_: warned)
    monkeypatch.setattr(builder, "faults", lambda *_: found)
    monkeypatch.setattr(builder, "write_sources", lambda *_: [])
    assert builder.main(["--check", "--folder", str(tmp_path / "site"), "--work", str(tmp_path / "work")]) == status
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*stale, *found))


def test_the_sources_have_every_page_and_nothing_of_an_earlier_build(
    builder: Any, generated: dict[str, str], built: Path, tmp_path: Path
) -> None:
    builder.write_sources({}, tmp_path)
    (tmp_path / "removed.md").write_text("# Not drawn any more\n", encoding="utf-8")
    written = builder.write_sources(generated, tmp_path)
    by_hand = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    outside = {"readme.md", "contributing.md", "changelog.md", "benchmarks.md"}
    seeds = {f"seeds/{path.stem}.md" for path in (DOCS / "seeds").glob("*.txt")}
    assert set(written) == by_hand | set(generated) | outside | seeds
    assert not (tmp_path / "removed.md").exists()


def test_every_law_operation_and_convention_has_its_entry(generated: dict[str, str]) -> None:
    assert headings(generated["laws.md"]) == list(OPERATIONS)
    assert headings(generated["conventions.md"]) == list(CONVENTIONS)
    for name in OPERATIONS:
        laws = [law.id for law in LAWS.values() if law.operation.name == name]
        assert headings(generated[f"operations/{name}.md"]) == laws
        assert all(f"[`{law}`](operations/{name}.md#{anchor(law)})" in generated["laws.md"] for law in laws)


def test_every_topic_and_its_operations_lead_to_each_other(generated: dict[str, str]) -> None:
    topics = {path: page for path, page in generated.items() if path.startswith("topics/")}
    for name in OPERATIONS:
        (topic,) = (path for path, page in topics.items() if f"](../operations/{name}.md)" in page)
        assert f"](../{topic})" in generated[f"operations/{name}.md"]
        assert f"]({topic})" in generated["operations.md"]


def test_every_convention_and_its_operations_lead_to_each_other(generated: dict[str, str]) -> None:
    sections = re.split(r"^## ", generated["conventions.md"], flags=re.MULTILINE)[1:]
    for convention, section in zip(CONVENTIONS, sections, strict=True):
        bears_on = [name for name, operation in OPERATIONS.items() if convention in operation.conventions]
        assert bears_on
        assert all(f"](operations/{name}.md)" in section for name in bears_on)
        link = f"](../conventions.md#{convention})"
        assert all(link in generated[f"operations/{name}.md"] for name in bears_on)


def test_every_law_and_its_derivation_lead_to_each_other(generated: dict[str, str]) -> None:
    for law in LAWS.values():
        if law.claim.background is None:
            continue
        derivation = generated[f"derivations/{law.claim.background}.md"]
        there = re.findall(r"^## (\d+\. .*)$", derivation, re.MULTILINE)
        entry = entry_of(law.id, generated)
        for name in law.claim.steps:
            heading = next(heading for heading in there if heading.endswith(f". {name}"))
            number = heading.partition(".")[0]
            assert f"[{number} ({name})](../derivations/{law.claim.background}.md#{anchor(heading)})" in entry
        assert f"[`{law.id}`](../operations/{law.operation.name}.md#{anchor(law.id)})" in derivation


def test_every_mistake_and_its_laws_lead_to_each_other(generated: dict[str, str]) -> None:
    for slug, mistake in catalogue().items():
        page = generated[f"mistakes/{slug}.md"]
        for law in (LAWS[name] for name in mistake.laws):
            assert f"[`{law.id}`](../operations/{law.operation.name}.md#{anchor(law.id)})" in page
            assert f"](../mistakes/{slug}.md)" in entry_of(law.id, generated)
        for name in shown_in(mistake):
            assert f"](../operations/{name}.md)" in page
            assert f"](../mistakes/{slug}.md)" in generated[f"operations/{name}.md"]
        assert all(citation.url in page for citation in mistake.citations)


def test_the_variance_of_logits_and_the_saturation_of_softmax_lead_to_each_other(generated: dict[str, str]) -> None:
    assert "](saturation.md)" in generated["derivations/variance_scaling.md"]
    assert "](variance_scaling.md)" in generated["derivations/saturation.md"]


def test_the_order_of_reading_has_every_derivation_once(generated: dict[str, str]) -> None:
    listed = re.findall(r"^\| \[[^\]]*\]\((\w+)\.md\)", generated["derivations/index.md"], re.MULTILINE)
    assert sorted(listed) == sorted(derivation_ids())
    assert listed[:2] == ["variance_scaling", "saturation"]


def test_products_in_proofs_are_not_taken_for_emphasis(generated: dict[str, str]) -> None:
    r"""Two asterisks of a proof's line are bare, those around the word; `\*` is a product."""
    lines = [line for name in derivation_ids() for line in generated[f"derivations/{name}.md"].splitlines()]
    proofs = [line for line in lines if line.startswith("*Proof:*")]
    assert len(proofs) > 100
    assert all(len(re.findall(r"(?<!\\)\*", line)) == 2 for line in proofs)


def test_every_worked_example_stands_once_and_errata_come_first(generated: dict[str, str]) -> None:
    text = generated["worked_examples.md"]
    shown = re.findall(r"^`(seed_\d{3}\.\w+)` · .* · \*\*(\w+)", text, re.MULTILINE)
    own = re.findall(r"^`(\w+\.\w+)`$", text, re.MULTILINE)
    assert sorted([*(name for name, _ in shown), *own]) == sorted(worked_example_ids())
    assert len(own) >= 3
    wrong = [verdict == "wrong" for _, verdict in shown]
    assert any(wrong)
    assert wrong == sorted(wrong, reverse=True)


def test_formulas_are_fenced_and_rows_of_a_table_have_as_many_cells_as_its_head(built: Path) -> None:
    """A `$$` block loses backslashes on GitHub, and a bare `|` splits a cell."""
    tables = 0
    for path in built.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert text.count("```") % 2 == 0, path
        assert "$$" not in _NOT_PROSE.sub("", text), path
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table
            tables += 1
    assert tables > 100
