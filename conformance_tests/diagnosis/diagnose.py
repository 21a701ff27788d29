"""From the broken laws of an operation to the mistake that it makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.core.law_result import LawResult, is_unexpected
from veriformer.conformance_tests.core.packages import blamed_on_its_package
from veriformer.conformance_tests.diagnosis.by_itself import ByItself
from veriformer.conformance_tests.diagnosis.calls import Calls
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.diagnosis.elimination import Elimination, mistakes_of
from veriformer.conformance_tests.diagnosis.interface_laws import ONLY_OF_LARGE_NUMBERS, STALE_STATE, is_interface_law
from veriformer.conformance_tests.diagnosis.named_by_laws import (
    formulas_of,
    left_by,
    refuted_by_interface_laws,
    suspects_by_laws,
    suspects_with_a_second,
    telling,
    weighed,
)
from veriformer.conformance_tests.diagnosis.pairs import Changes
from veriformer.conformance_tests.diagnosis.speaking_against import spoken_against
from veriformer.conformance_tests.diagnosis.stale_state import contradicted
from veriformer.conformance_tests.diagnosis.unexplained_laws import unexplained_laws
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants import Point
from veriformer.spec.laws import LAWS

PAIR = 0.9
# The confidence in what explains the calls with moderate numbers and not those with large ones.
_MODERATE = 0.8


def diagnose(
    profile: Profile, results: Sequence[LawResult], limits: Limits, work: Work | None = None
) -> Diagnosis | None:
    """Return what explains the broken laws of one operation; None where none is broken, or no call gives an answer.

    Mistakes that are choices in a formula are found by computing what each would give; the others are named by the
    laws about them.
    """
    try:
        return _diagnosed(profile, results, limits, work or Work())
    except Exception as error:
        operation = profile.subject.operation.name
        names = tuple(result.law.id for result in results if is_unexpected(result))
        return Diagnosis(operation, "unknown", (), names, problem=blamed_on_its_package(operation, error))


def _diagnosed(profile: Profile, results: Sequence[LawResult], limits: Limits, work: Work) -> Diagnosis | None:
    broken = [result for result in results if is_unexpected(result)]
    if not broken:
        return None
    operation = profile.subject.operation.name
    names = tuple(result.law.id for result in broken)
    if all(result.counterexample and result.counterexample.eager_allows for result in broken):
        # Only roundings that were declared or inferred not to be made: no formula is wrong.
        return Diagnosis(operation, "unknown", (), names)
    against = spoken_against(profile.subject, broken, limits)
    if not any(result.status in ("passed", "failed") for result in results if not _of_signature(result)):
        # No call gave a result: only the signature can be to blame.
        return _named_by_signature(operation, broken, against)
    family = family_of(operation)
    if family is None:
        return _named_by_laws(operation, broken, against)
    made = Calls(profile, broken, limits, family.under(profile.subject.conventions), work)
    standing, elimination = made.explained()
    if standing:
        found = _reproduced(made, standing, elimination, ByItself(profile, results, limits, made.base))
        return replace(found, cut_short=made.work.cut_short)
    if not elimination.observations and all(result.status == "error" for result in broken):
        return None
    named = _named_by_laws(operation, broken, against | _refuted(made, elimination))
    return replace(
        named,
        calls=len(elimination.observations),
        excluded=elimination.tried,
        cut_short=made.work.cut_short,
        untried=elimination.pairs_left,
    )


def _of_signature(result: LawResult) -> bool:
    return result.law.claim.key == "signature"


def _named_by_signature(operation: str, broken: Sequence[LawResult], against: Collection[str]) -> Diagnosis | None:
    """Return the mistake in a signature by which every call raised; None where the signature is not to blame."""
    suspects = suspects_by_laws(operation, [one.law.id for one in broken if _of_signature(one)], against)
    names = tuple(result.law.id for result in broken)
    return Diagnosis(operation, "named_by_laws", suspects, names) if suspects else None


def _reproduced(made: Calls, standing: Sequence[Changes], elimination: Elimination, by_itself: ByItself) -> Diagnosis:
    names = {changes: mistakes_of(made.base, changes, elimination.declared) for changes in standing}
    wrong = {changes: by_itself.mistakes(changes, its) for changes, its in names.items()}
    suspects = _with_what_is_left(made, ranked(wrong))
    if made.only_moderate:
        suspects = tuple(replace(one, confidence=_MODERATE * one.confidence) for one in suspects)
    return Diagnosis(
        made.subject.operation.name,
        "reproduced",
        suspects,
        tuple(result.law.id for result in made.broken),
        calls=len(elimination.observations),
        excluded=elimination.tried - len(standing),
        separated_by=made.separating(standing) if len(suspects) > 1 else "",
    )


def _named_by_laws(operation: str, broken: Sequence[LawResult], refuted: Collection[str]) -> Diagnosis:
    every = (weighed(suspect, broken) for suspect in suspects_with_a_second(operation, broken, refuted))
    suspects = tuple(suspect for suspect in every if suspect is not None)
    names = tuple(result.law.id for result in broken)
    if not suspects:
        return Diagnosis(operation, "unknown", (), names)
    return Diagnosis(operation, "named_by_laws", suspects, names, unexplained=left_by(suspects[0], broken))


def _refuted(made: Calls, elimination: Elimination) -> frozenset[str]:
    """Return the mistakes that the calls refute; those of a program that only raises refute none.

    Formulas were computed and explained nothing. A program that is wrong from its first call has no stale state, unless
    a law shows it; one that is wrong for moderate numbers does not go wrong by large ones.
    """
    deviating = [observation for observation in elimination.observations if observation.deviates]
    if not deviating and not (made.afresh and made.loads_again):
        return refuted_by_interface_laws(made.broken)
    of_large_numbers = ONLY_OF_LARGE_NUMBERS if any(observation.moderate for observation in deviating) else ()
    of_state = STALE_STATE if not made.afresh and made.wrong_from_the_first_call else ()
    return _refuted_with(made, made.base).union(of_large_numbers, of_state)


def _refuted_with(made: Calls, formula: Point) -> frozenset[str]:
    """Return the mistakes that cannot be made with a formula: other formulas, and stale state that calls contradict."""
    formulas, stale = formulas_of(made.subject.operation.name), contradicted(made, formula)
    refuted = formulas | stale | refuted_by_interface_laws(made.broken)
    return refuted | frozenset(catalogue()) - frozenset(STALE_STATE) if made.has_stale_state else refuted


def ranked(mistakes: Mapping[Changes, tuple[str, ...]]) -> tuple[Suspect, ...]:
    """Return the suspects by the mistakes that changes make, each once, those of the catalogue first."""
    by_mistakes: dict[tuple[str, ...], Changes] = {}
    for changes, names in mistakes.items():
        by_mistakes.setdefault(names, changes)
    known = catalogue()

    def merit(names: tuple[str, ...]) -> tuple[int, int]:
        recorded = [known[name] for name in names if name in known]
        return len(recorded) - len(names), sum(len(mistake.citations) for mistake in recorded)

    order = sorted(by_mistakes, key=merit, reverse=True)
    sureness = {1: 1.0, 2: PAIR}
    return tuple(Suspect(slugs, sureness.get(len(slugs), PAIR) / len(order), by_mistakes[slugs]) for slugs in order)


def _with_what_is_left(made: Calls, suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Return the suspects, each with the mistake that breaks the laws which its formula obeys, if one is known."""
    formula = made.base.changed(*suspects[0].changes)
    left = {
        result.law.id
        for result in unexplained_laws(made.subject, formula, made.broken, made.limits)
        # Every call that a formula can be compared with was explained: the rest is rounding.
        if result.status == "failed" and (is_interface_law(result.law.id) or not made.shows(result))
    }
    operation = made.subject.operation.name
    own_words = [law for law in telling(made.broken) if law in left]
    if any(LAWS[law].claim.key == "memory_layout" for law in own_words) and not made.reading_layouts(formula):
        # A wrong formula may round worse than the laws allow, which is what the right formula does.
        own_words = [law for law in own_words if LAWS[law].claim.key != "memory_layout"]
    # Where results depend on earlier calls, other laws may be broken in consequence.
    own_words = [law for law in own_words if is_interface_law(law)] or own_words or made.reading_layouts(formula)
    others = suspects_by_laws(operation, own_words, _refuted_with(made, formula))
    return tuple(_together(suspect, other) for suspect in suspects for other in others[:1]) or suspects


def _together(suspect: Suspect, other: Suspect) -> Suspect:
    mistakes = tuple(sorted({*suspect.mistakes, *other.mistakes}))
    return Suspect(mistakes, suspect.confidence * other.confidence, suspect.changes)
