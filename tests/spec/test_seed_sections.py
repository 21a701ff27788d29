"""The sections of the seed documents: all of them are listed, and what they point to exists."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from veriformer import reference
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.seeds import DOCUMENTS, Topic, claims, sections
from veriformer.spec.seeds.reading import read_topics

SEEDS = Path(__file__).parents[2] / "docs" / "seeds"
TOPICS = read_topics()
each_document = pytest.mark.parametrize("document", DOCUMENTS)
each_topic = pytest.mark.parametrize("topic", TOPICS.values(), ids=lambda topic: topic.name)
# The first rows of tables of document 001.
TABLE_HEADS = {"001": {207, 323}}


def lines_of(document: str) -> list[str]:
    return (SEEDS / f"{document}.txt").read_text(encoding="utf-8").split("\n")


def headings(document: str) -> set[int]:
    """Return the lines that are headings by the marks of the document, or by its habits where it has no marks."""
    lines = lines_of(document)
    fenced = {index for index in range(len(lines)) if "\n".join(lines[:index]).count("```") % 2}
    rules = {
        "000": lambda index: lines[index].endswith(" #"),
        "001": lambda index: is_title(lines[index]) and not lines[index - 1].strip(),
        "002": lambda index: is_title(lines[index]) and (lines[index + 1 : index + 2] or [""])[0][:2] in ("", "- "),
    }
    marked = rules.get(document, lambda index: index not in fenced and lines[index].startswith("#"))
    return {index + 1 for index in range(len(lines)) if marked(index)}


def is_title(line: str) -> bool:
    """Return whether a line looks like a heading: a few words, no list, no formula, no sentence, no table."""
    words = line.split()
    is_other = re.search(r"[:$*=@_”\[\]]|[.,]$|^\W*$|^[-•#→,\d]", line)
    return bool(words) and len(line) <= 60 and line[0] == line[0].upper() and not is_other


@each_document
def test_every_section_begins_with_its_heading(document: str) -> None:
    lines = lines_of(document)
    for section in sections(document):
        assert lines[section.line - 1].strip().strip("#").strip() == section.heading


@each_document
def test_sections_follow_one_another(document: str) -> None:
    starts = [section.line for section in sections(document)]
    assert starts == sorted(set(starts))


@each_document
def test_every_heading_of_the_document_is_a_section(document: str) -> None:
    found = headings(document)
    assert len(found) > 10
    assert found - {section.line for section in sections(document)} == TABLE_HEADS.get(document, set())


@each_document
def test_a_section_has_topics_or_says_why_not(document: str) -> None:
    assert all(bool(section.topics) is not bool(section.reason) for section in sections(document))


def test_every_topic_has_a_section() -> None:
    used = {topic for document in DOCUMENTS for section in sections(document) for topic in section.topics}
    assert used == set(TOPICS.values()) - {TOPICS["beyond"]}


def test_the_operations_of_the_topics_are_those_of_the_catalogue() -> None:
    named = {name for topic in TOPICS.values() for name in (*topic.operations, *topic.black_boxes)}
    # An operation that no document speaks of needs no topic.
    assert len(named) > 20
    assert named <= set(OPERATIONS)


def test_the_derivations_of_the_topics_are_those_of_the_catalogue() -> None:
    named = {name for topic in TOPICS.values() for name in topic.derivations}
    assert set(derivation_ids()) <= named, "put the new derivation under a topic of spec/seeds/topics.toml"
    assert named <= set(derivation_ids())


@each_topic
def test_functions_are_those_of_the_reference(topic: Topic) -> None:
    assert set(topic.operations) | set(topic.functions) <= set(reference.__all__)
    assert not set(topic.operations) & set(topic.functions)


@each_topic
def test_only_operations_without_a_formula_are_black_boxes(topic: Topic) -> None:
    assert not set(topic.black_boxes) & set(reference.__all__)


@each_topic
def test_every_glob_matches_a_law(topic: Topic) -> None:
    assert all(any(fnmatchcase(law, glob) for law in LAWS) for glob in topic.laws)


def test_claims_that_something_decides_stand_in_sections_with_topics() -> None:
    for claim in claims():
        section = [section for section in sections(claim.document) if section.line <= claim.line][-1]
        assert section.topics or not (claim.laws or claim.steps), claim.id
