"""Mistakes that people make in Transformers: public reports, what hides them, and the laws that catch them.

`catalogue()` has every mistake by its slug. Most are planted: one change to a correct source makes a program that can
be run, `planted()[0].source_text()`, and each law that names the mistake fails on it. The data loads without any
framework and is read when needed.

A planted mistake is an entry of a file in `planted/`, one file for each family of operations:

    [[mistake]]
    slug = "scale_missing"          of catalogue.json, which has its sentence and the issues that report it
    summary = "..."                 what goes wrong, only where the catalogue does not have the slug
    source = "attention_numpy"      the correct file in sources/ that is changed
    right = "..."                   the passage in the source, once
    wrong = "..."                   what a mistaken author wrote instead
    laws = ["attention.scale"]      the laws about exactly this mistake: each must fail
    errors = true                   only where a call raises or cannot be judged: each law ends with an error instead

The operations are those of the laws. `not_planted.json` says, by slug, why the rest of the catalogue is not planted,
and `remarks.json` has remarks on operations. `in_words.json` says of common mistakes what a program that makes them
does, `remedies.json` what to do instead. `regions.json` says, for each mistake that something hides, in which regions
of the case space it shows, or that these are not drawn. `equivalent.toml` has the mistakes that an exact softmax
undoes: the condition, the derivation and its step that prove it, and a changed source that conforms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from veriformer.conformance_tests.mistakes.files import (
    read_equivalent,
    read_json,
    read_planted,
    read_source,
    source_names,
)
from veriformer.conformance_tests.mistakes.mistake import Citation, Equivalence, Mistake, PlantedMistake
from veriformer.spec.extensions import installed

__all__ = [
    "NOT_DRAWN",
    "Citation",
    "Equivalence",
    "Mistake",
    "PlantedMistake",
    "catalogue",
    "caught_by",
    "equivalent",
    "in_words",
    "planted",
    "read_source",
    "remarks",
    "remedy",
    "source_names",
]


# In place of regions: `not_planted.json` says why.
NOT_DRAWN = "not drawn"


@cache
def catalogue() -> Mapping[str, Mistake]:
    """Return every mistake by its slug, in the order of the slugs."""
    reported = {record["slug"]: record for record in read_json("catalogue.json")}
    reasons: dict[str, str] = read_json("not_planted.json")
    regions: dict[str, list[str] | str] = read_json("regions.json")
    places: dict[str, list[PlantedMistake]] = {}
    for entry in planted():
        places.setdefault(entry.slug, []).append(entry)
    slugs = sorted(reported.keys() | places.keys())
    return MappingProxyType(
        {
            slug: replace(
                _mistake(slug, reported.get(slug), places.get(slug, []), reasons.get(slug, "")),
                regions=() if (shown := regions.get(slug, NOT_DRAWN)) == NOT_DRAWN else tuple(shown),
            )
            for slug in slugs
        }
    )


@cache
def planted() -> tuple[PlantedMistake, ...]:
    """Return every planted mistake; several may have one slug, each in another source or at another place."""
    alike: Counter[str] = Counter()
    entries = []
    own = (PlantedMistake(**{**record, "laws": tuple(record["laws"])}) for record in read_planted())
    for entry in (*own, *(one for extension in installed().extensions for one in extension.mistakes)):
        alike[entry.name] += 1
        entries.append(replace(entry, number=alike[entry.name]))
    return tuple(entries)


@cache
def equivalent() -> Mapping[str, Equivalence]:
    """Return the mistakes that an exact softmax undoes, by slug."""
    return MappingProxyType({record["slug"]: Equivalence(**record) for record in read_equivalent()})


def caught_by(law: str) -> tuple[str, ...]:
    """Return the slugs of the mistakes that a law catches, reported ones first."""
    slugs = {entry.slug for entry in planted() if law in entry.laws}
    return tuple(sorted(slugs, key=lambda slug: (not catalogue()[slug].citations, slug)))


@cache
def remarks() -> Mapping[str, str]:
    """Return the remarks on the mistakes of operations, by name; most have none."""
    return MappingProxyType(read_json("remarks.json"))


def in_words(slug: str) -> str:
    """Return what a program that makes a mistake does, such as "lets each query see one key too many"; mostly empty."""
    return _in_words().get(slug, "")


def remedy(slug: str) -> str:
    """Return what to do instead of a mistake, such as "let each query see its own key too"; "" if unknown."""
    return _remedies().get(slug, "")


@cache
def _remedies() -> Mapping[str, str]:
    return MappingProxyType(read_json("remedies.json"))


@cache
def _in_words() -> Mapping[str, str]:
    return MappingProxyType(read_json("in_words.json"))


def _mistake(slug: str, record: Mapping[str, Any] | None, places: list[PlantedMistake], reason: str) -> Mistake:
    if record is None:
        summary = next(entry.summary for entry in places if entry.summary)
        return Mistake(slug, summary, planted=tuple(places))
    citations = tuple(Citation(**citation) for citation in record["citations"])
    # A mistake that has been planted since needs no reason any more.
    return Mistake(
        **{**record, "citations": citations},
        planted=tuple(places),
        reason="" if places else reason,
        equivalence=equivalent().get(slug),
    )
