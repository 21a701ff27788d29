"""The smallest mistake that is always found is as small as the page says, in the rows that take little time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "detection_floor.md"
HELD_TO = {"scale, float32 5×7×4": 7.5e-6, "mask leak, float32 5×7×4": 2.4e-6}


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows that begin with a mistake's title."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "×" in line]
    return [cells for cells in found if len(cells) > 5]


def test_two_rows_are_found_as_they_must_be() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "detection_floor.py"), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found = rows(run.stdout)
    assert [cells[0] for cells in found] == [*HELD_TO, *HELD_TO]
    for title, floor, *others in found[2:]:
        assert float(floor) <= HELD_TO[title]
        assert len(others) == 5
    # Fewer inputs than the page's two hundred: what is always found may be smaller, hardly larger.
    page = {cells[0]: float(cells[1]) for cells in rows(PAGE.read_text(encoding="utf-8"))[-10:]}
    assert all(float(floor) <= 1.01 * page[title] for title, floor, *_ in found[2:])


def test_no_row_of_the_page_accuses_a_right_program() -> None:
    floors = [cells[1] for cells in rows(PAGE.read_text(encoding="utf-8"))]
    assert len(floors) == 20
    assert all(re.fullmatch(r"\d\.\de-\d+", floor) for floor in floors)
