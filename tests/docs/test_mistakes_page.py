"""The page of planted mistakes shows, for every operation, mistakes that people made and the laws that catch them."""

from __future__ import annotations

import re

import pytest
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

REPORTED = {slug for slug, mistake in catalogue().items() if mistake.citations}
LEAST = 3

_SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| \[`(\w+)`\]\(mistakes/\1\.md\) \|.*$", re.MULTILINE)


@pytest.fixture(scope="module")
def page(generated: dict[str, str]) -> str:
    return generated["mistakes_caught.md"]


@pytest.fixture(scope="module")
def sections(page: str) -> dict[str, str]:
    return dict(_SECTION.findall(page))


def test_every_operation_has_its_section(sections: dict[str, str]) -> None:
    assert list(sections) == list(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_at_least_three_reported_mistakes(operation: str, sections: dict[str, str]) -> None:
    rows = {row[1]: row[0] for row in _ROW.finditer(sections[operation])}
    reported = [slug for slug in rows if slug in REPORTED]
    assert len(reported) >= LEAST, f"{operation}: only {reported}"
    assert all("https://github.com/" in rows[slug] for slug in reported)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_mistake_names_a_law_of_the_operation(operation: str, sections: dict[str, str]) -> None:
    own = {law.id for law in LAWS.values() if law.operation.name == operation}
    for row in _ROW.finditer(sections[operation]):
        named = set(re.findall(r"\[`([\w.]+)`\]\(operations/", row[0]))
        assert named, row[0]
        assert named <= own, row[0]


def test_a_mistake_that_is_not_planted_is_shown_with_its_reason(page: str, sections: dict[str, str]) -> None:
    rest = page[page.index("## Reported and not planted") :]
    planted = {row[1] for section in sections.values() for row in _ROW.finditer(section)}
    assert {slug for slug in REPORTED if f"`{slug}`" in rest} == REPORTED - planted
