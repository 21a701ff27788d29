"""From the broken laws of an operation to the mistake that it makes."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.cases.limits import Limits
from veriformer.conformance_tests.diagnosis.calls import Calls
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.diagnosis.elimination import Changes, mistakes_of
from veriformer.conformance_tests.diagnosis.named_by_laws import (
    formulas_of,
    suspects_beside_each_other,
    suspects_by_laws,
    telling,
)
from veriformer.conformance_tests.diagnosis.promises import is_promise
from veriformer.conformance_tests.diagnosis.remainder import unexplained
from veriformer.conformance_tests.families import Point, family_of
from veriformer.conformance_tests.inference import Profile
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.report import LawResult

_PAIR = 0.9


def diagnose(profile: Profile, results: Sequence[LawResult], limits: Limits) -> Diagnosis | None:
    """Return what explains the broken laws of one operation; None where none is broken.

    Mistakes that are choices in a formula are found by computing what each would give; the others are named by the
    laws about them.
    """
    broken = [result for result in results if result.status in ("failed", "error") and result.expected_failure is None]
    if not broken:
        return None
    operation = profile.subject.operation.name
    names = tuple(result.law.id for result in broken)
    family = family_of(operation)
    calls = excluded = 0
    refuted: frozenset[str] = frozenset()
    if family is not None:
        base = family.under(profile.subject.conventions)
        made = Calls(profile, broken, limits, base)
        standing, elimination = made.explained()
        calls, excluded = len(elimination.observations), elimination.tried
        if standing:
            suspects = _beside_what_is_left(made, ranked(base, standing))
            return Diagnosis(
                operation,
                "reproduced",
                suspects,
                names,
                calls=calls,
                excluded=excluded - len(standing),
                separated_by=made.separating(standing) if len(suspects) > 1 else "",
            )
        if any(observation.deviates for observation in elimination.observations):
            # Computed in vain; a program that only raises was not compared with anything.
            refuted = formulas_of(operation)
    suspects = suspects_beside_each_other(operation, broken, refuted)
    return Diagnosis(operation, "named_by_laws" if suspects else "unknown", suspects, names, calls, excluded)


def ranked(base: Point, standing: Sequence[Changes]) -> tuple[Suspect, ...]:
    """Return the suspects that the changes amount to, each once, recorded ones that most people reported first."""
    by_mistakes: dict[tuple[str, ...], Changes] = {}
    for changes in standing:
        by_mistakes.setdefault(mistakes_of(base, changes), changes)
    known = catalogue()

    def merit(names: tuple[str, ...]) -> tuple[int, int]:
        recorded = [known[name] for name in names if name in known]
        return len(recorded) - len(names), sum(len(mistake.citations) for mistake in recorded)

    order = sorted(by_mistakes, key=merit, reverse=True)
    sureness = {1: 1.0, 2: _PAIR}
    return tuple(Suspect(slugs, sureness.get(len(slugs), _PAIR) / len(order), by_mistakes[slugs]) for slugs in order)


def _beside_what_is_left(made: Calls, suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Return the suspects, each together with what breaks the laws that its formula obeys, if that has a name."""
    formula = made.base.changed(*suspects[0].changes)
    left = {
        result.law.id
        for result in unexplained(made.subject, formula, made.broken, made.limits)
        # Every call that can be compared was explained: what is left of one is a matter of rounding.
        if result.status == "failed" and (is_promise(result.law.id) or not made.shows(result))
    }
    operation = made.subject.operation.name
    own_words = [law for law in telling(made.broken) if law in left]
    others = suspects_by_laws(operation, own_words, formulas_of(operation))
    return tuple(_together(suspect, other) for suspect in suspects for other in others[:1]) or suspects


def _together(suspect: Suspect, other: Suspect) -> Suspect:
    mistakes = tuple(sorted({*suspect.mistakes, *other.mistakes}))
    return Suspect(mistakes, suspect.confidence * other.confidence, suspect.changes)
