"""Mistakes that are no choice in a formula: they have laws of their own, and are named by those laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.families import family_of
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.laws import LAWS

# No formula was reproduced: less sure than what was.
_HIGHEST = 0.5
_MOST = 3


def suspects_by_laws(operation: str, broken: Collection[str]) -> tuple[Suspect, ...]:
    """Return the mistakes whose own laws are broken and that no formula of the family shows, the likeliest first.

    A mistake is the likelier the larger the part of its laws for the operation that is broken, and the more the broken
    laws that are its own say: a law says the less, the more mistakes break it. Mistakes that the family has were
    refuted by computing them.
    """
    family = family_of(operation)
    refuted = (
        set()
        if family is None
        else {option.slug for decision in family.all_decisions.values() for option in decision.options}
    )
    own = {
        slug: {law for law in entry.laws if LAWS[law].operation.name == operation}
        for slug, entry in catalogue().items()
    }
    breaking = Counter(law for laws in own.values() for law in laws)
    merits, sureness = {}, {}
    for slug, laws in own.items():
        if slug not in refuted and (hit := laws & set(broken)):
            said = [1 / breaking[law] for law in hit]
            sureness[slug] = _HIGHEST * max(said) * len(hit) / len(laws)
            merits[slug] = (len(hit) / len(laws), sum(said), len(catalogue()[slug].citations))
    ranked = sorted(merits, key=lambda slug: merits[slug], reverse=True)
    best = [slug for slug in ranked if merits[slug][0] == 1.0] or ranked
    shown = best[:_MOST]
    total = sum(merits[slug][1] for slug in shown)
    return tuple(Suspect((slug,), sureness[slug] * merits[slug][1] / total) for slug in shown)
