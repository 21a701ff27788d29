"""Mistakes that are no choice in a formula: they have laws of their own, and are named by those laws."""

from __future__ import annotations

from collections.abc import Collection

from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.families import family_of
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.laws import LAWS
from veriformer.spec.laws.interface import SHAPE

# No formula was reproduced: less sure than what was.
_HIGHEST = 0.5
_MOST = 3


def suspects_by_laws(operation: str, broken: Collection[str]) -> tuple[Suspect, ...]:
    """Return the mistakes whose own laws are broken and that no formula of the family shows, the likeliest first.

    A mistake is the likelier the larger the part of its laws for the operation that is broken, and the more of the
    broken laws are its own. Mistakes that the family has were refuted by computing them. A result of the wrong shape
    breaks laws of every kind: then the law about shapes is the only one that tells anything.
    """
    family = family_of(operation)
    refuted = (
        set()
        if family is None
        else {option.slug for decision in family.all_decisions.values() for option in decision.options}
    )
    told = {law for law in broken if LAWS[law].claim.key == SHAPE.key} or set(broken)
    merits = {}
    for slug, entry in catalogue().items():
        own = [law for law in entry.laws if LAWS[law].operation.name == operation]
        hit = len(told.intersection(own))
        if hit and slug not in refuted:
            merits[slug] = (hit / len(own), hit / len(told), len(entry.citations))
    ranked = sorted(merits, key=lambda slug: merits[slug], reverse=True)
    best = [slug for slug in ranked if merits[slug][0] == 1.0] or ranked
    shown = best[:_MOST]
    return tuple(Suspect((slug,), _HIGHEST * merits[slug][0] * merits[slug][1] / len(shown)) for slug in shown)
