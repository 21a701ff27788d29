"""The page of planted mistakes shows, for every operation, mistakes that people made and the laws that catch them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
REPORTED = {slug for slug, mistake in catalogue().items() if mistake.citations}
PAGE = (ROOT / "docs" / "mistakes_caught.md").read_text(encoding="utf-8")
LEAST = 3

_SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \|.*$", re.MULTILINE)
SECTIONS = dict(_SECTION.findall(PAGE))


def test_every_operation_has_its_section() -> None:
    assert list(SECTIONS) == list(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_at_least_three_reported_mistakes(operation: str) -> None:
    rows = {row[1]: row[0] for row in _ROW.finditer(SECTIONS[operation])}
    reported = [slug for slug in rows if slug in REPORTED]
    assert len(reported) >= LEAST, f"{operation}: only {reported}"
    assert all("https://github.com/" in rows[slug] for slug in reported)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_mistake_names_a_law_of_the_operation(operation: str) -> None:
    own = {law.id for law in LAWS.values() if law.operation.name == operation}
    for row in _ROW.finditer(SECTIONS[operation]):
        named = set(re.findall(r"\[`([\w.]+)`\]\(laws\.md", row[0]))
        assert named, row[0]
        assert named <= own, row[0]


def test_a_mistake_that_is_not_planted_is_shown_with_its_reason() -> None:
    rest = PAGE[PAGE.index("## Reported and not planted") :]
    planted = {row[1] for section in SECTIONS.values() for row in _ROW.finditer(section)}
    assert {slug for slug in REPORTED if f"`{slug}`" in rest} == REPORTED - planted
