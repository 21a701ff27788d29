"""The records of this folder's TOML files, read when they are needed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from veriformer.spec.seeds.claim import Claim, ClaimVerdict, ProofStep
from veriformer.spec.seeds.section import Section, Topic


def read_claims(document: str) -> tuple[Claim, ...]:
    """Return the claims of one document in the order of its file."""
    return tuple(_claim(record) for record in _records(f"claims_{document}.toml")["claim"])


def read_sections(document: str) -> tuple[Section, ...]:
    """Return the sections of one document, from its beginning to its end."""
    topics = read_topics()
    return tuple(_section(document, record, topics) for record in _records(f"sections_{document}.toml")["section"])


@cache
def read_topics() -> Mapping[str, Topic]:
    """Return the topics by their names."""
    return {name: Topic(name, **_with_tuples(record)) for name, record in _records("topics.toml").items()}


def _claim(record: Mapping[str, Any]) -> Claim:
    return Claim(
        **{name: record[name] for name in ("id", "line", "fragment", "passage")},
        verdict=ClaimVerdict(record["verdict"]),
        exact=record.get("exact", ""),
        laws=tuple(record.get("laws", ())),
        steps=tuple(ProofStep(derivation, name) for derivation, name in record.get("steps", ())),
        examples=tuple(record.get("examples", ())),
        reason=record.get("reason", ""),
    )


def _section(document: str, record: Mapping[str, Any], topics: Mapping[str, Topic]) -> Section:
    named = tuple(topics[name] for name in record.get("topics", ()))
    return Section(document, record["line"], record["heading"], named, record.get("reason", ""))


def _with_tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def _records(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
