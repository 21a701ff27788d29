"""The kit of reported faults is whole, its programs differ where they should, and the runner judges them."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from veriformer.conformance_tests.mistakes import catalogue

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "historical"
ENTRIES = tomllib.loads((FOLDER / "kit.toml").read_text(encoding="utf-8"))["fault"]
NAMES = [one["id"] for one in ENTRIES]


SIZE = 60


def test_each_fault_is_there_once() -> None:
    assert len({*NAMES}) == len(ENTRIES) == SIZE
    assert [name.partition("_")[0] for name in NAMES] == [f"{number:02}" for number in range(1, SIZE + 1)]
    assert len({(one["repository"], one["number"]) for one in ENTRIES}) == SIZE


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_an_entry_is_complete(entry: dict[str, object], benchmark: ModuleType) -> None:
    (fault,) = (one for one in benchmark.faults() if one.id == entry["id"])
    assert fault.kind in benchmark.KINDS
    assert fault.url.removesuffix(f"/{fault.number}") in (
        f"https://github.com/{fault.repository}/issues",
        f"https://github.com/{fault.repository}/pull",
    )
    assert 2023 <= fault.year <= 2026
    assert fault.title
    assert fault.tolerance
    assert 0 <= fault.rtol < 1 and 0 <= fault.atol < 1
    assert bool(fault.part) == (fault.kind != "function")
    assert {*fault.slugs} <= {*catalogue()}
    forms = ["faulty", "mended", *(["original"] if fault.kind == "port" else [])]
    assert [form for form in forms if not fault.program(form).exists()] == []


def test_no_program_is_without_an_entry() -> None:
    found = {path.stem.rpartition("_")[0] for path in (FOLDER / "programs").glob("*.py")}
    assert found == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_two_forms_of_a_fault_differ(name: str, benchmark: ModuleType) -> None:
    (fault,) = benchmark.faults([name])
    assert sys.modules["examples"].differ_at_all(fault)


@pytest.mark.parametrize("name", NAMES)
def test_the_two_forms_open_alike_and_tell_nothing(name: str, benchmark: ModuleType) -> None:
    (fault,) = benchmark.faults([name])
    faulty, mended = (fault.program(form).read_text(encoding="utf-8") for form in ("faulty", "mended"))
    assert faulty.splitlines()[0] == mended.splitlines()[0]
    assert faulty.startswith('"""')
    assert not any(word in faulty.lower() for word in ("faulty", "wrong", "bug", "mistake", "mended"))


def test_a_place_is_that_of_the_function_that_was_changed(benchmark: ModuleType) -> None:
    (fault,) = benchmark.faults(["01_"])
    mended = benchmark.Answer(status=0, seconds=0.0, judged=True)
    lines = {line: benchmark.Answer(status=1, seconds=0.0, line=line) for line in (3, 6, 8)}
    found = {line: benchmark.Outcome(fault, answer, mended, allclose_sees=True) for line, answer in lines.items()}
    # The first is an import, the second the function, the third the line that was changed.
    assert {line: one.placed for line, one in found.items()} == {3: False, 6: True, 8: True}


def test_what_is_said_of_the_mended_form_too_does_not_count(benchmark: ModuleType) -> None:
    (fault,) = benchmark.faults(["01_"])
    accused = benchmark.Answer(status=1, seconds=0.0, line=6, names=fault.slugs)
    both = benchmark.Outcome(fault, accused, accused, allclose_sees=True)
    assert not (both.caught or both.placed or both.named)
    assert benchmark.kind_of(both.mended) == "accused"


def test_the_page_shows_the_outcomes_that_are_kept(benchmark: ModuleType) -> None:
    found = benchmark.read(FOLDER / "outcomes.json", benchmark.faults())
    assert len(found) == SIZE
    assert benchmark.page(found) == (ROOT / "docs" / "historical.md").read_text(encoding="utf-8")


def test_what_allclose_sees_is_what_is_kept(benchmark: ModuleType) -> None:
    for one in benchmark.read(FOLDER / "outcomes.json", benchmark.faults(["0", "5"])):
        assert sys.modules["examples"].seen_by_allclose(one.fault) == one.allclose_sees


@pytest.mark.long
def test_three_faults_are_run_and_told(benchmark: ModuleType, tmp_path: Path) -> None:
    record, page = tmp_path / "found.json", tmp_path / "page.md"
    names = ["01_", "03_", "05_"]
    assert benchmark.main([*names, "--json", str(record), "--markdown", str(page)]) == 0
    found = json.loads(record.read_text(encoding="utf-8"))
    assert [one["caught"] and one["placed"] and one["named"] for one in found] == [True] * 3
    assert [one["mended"]["status"] for one in found] == [0] * 3
    assert "| all | 3 | 3 | 3 | 3 of 3 | 0 | 0 |" in page.read_text(encoding="utf-8")
