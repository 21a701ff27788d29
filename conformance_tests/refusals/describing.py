"""Finding the fewest words that separate what was refused from what was answered."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.refusals.features import CallFeatures
from veriformer.conformance_tests.refusals.predicates import Predicate, candidates
from veriformer.conformance_tests.refusals.refusal import Refusal, limitation_of
from veriformer.conformance_tests.refusals.survey import Answer, Survey, SurveyEnded

# A survey ends when its words foretell every answer of a round. After so many rounds nothing is said.
_MOST_ROUNDS = 6
_MOST_COMPILED_ROUNDS = 4
# A single refused call has everything in common with itself, and two have much by chance.
_FEWEST_ALIKE = 3
_MOST_REFUSALS = 3
# Among so many refused calls, one that has no words of its own will not get any from more calls.
_ENOUGH = 24


def described(operation: str, survey: Survey) -> tuple[Refusal, ...]:
    """Return what the operation refuses; empty where it answers all calls or none, or where no words fit.

    Rounds of calls are made until what was found before a round foretells all of its answers.
    """
    answers: list[Answer] = []
    found: tuple[Predicate, ...] | None = None
    for _ in range(_MOST_COMPILED_ROUNDS if survey.compiles else _MOST_ROUNDS):
        try:
            fresh = list(survey.answers())
        except SurveyEnded:
            return ()
        if found is not None and all(_foretold(found, answer) for answer in fresh):
            return tuple(_refusal(survey, operation, predicate, found, answers) for predicate in found)
        answers += fresh
        refused = sum(answer.refused for answer in answers)
        if refused == len(answers):
            return ()
        found = separating(answers) if refused >= _FEWEST_ALIKE else None
        if found is None and refused >= _ENOUGH and _leaves_some(answers):
            return ()
    return ()


def _foretold(found: Sequence[Predicate], answer: Answer) -> bool:
    return any(predicate.holds(answer.call) for predicate in found) is answer.refused


def _refusal(
    survey: Survey, operation: str, predicate: Predicate, found: Sequence[Predicate], answers: Sequence[Answer]
) -> Refusal:
    its = [answer for answer in answers if answer.refused and predicate.holds(answer.call)]
    # Where nothing else is refused, the exception is about this.
    first = min(its, key=lambda answer: sum(other.holds(answer.call) for other in found))
    exception = first.sentence.removeprefix(f"{operation} ")
    return Refusal(operation, predicate, exception, survey.declares(limitation_of(predicate)))


def separating(answers: Sequence[Answer]) -> tuple[Predicate, ...] | None:
    """Return the fewest, simplest predicates true of every refused call and of no answered one; None if there are none.

    Among predicates true of no answered call, that of most refused calls is taken, then that of most of the rest.
    """
    left, pure = _refused_and_pure(answers)
    found: list[Predicate] = []
    while left and len(found) < _MOST_REFUSALS:
        covered = [sum(one.holds(call) for call in left) for one in pure]
        most = max(covered, default=0)
        if most < _FEWEST_ALIKE:
            return None
        found.append(pure[covered.index(most)])
        left = [call for call in left if not found[-1].holds(call)]
    return None if left else tuple(found)


def _refused_and_pure(answers: Sequence[Answer]) -> tuple[list[CallFeatures], list[Predicate]]:
    """Return the refused calls, and the predicates true of some of them and of no answered one."""
    answered = [answer.call for answer in answers if not answer.refused]
    refused = [answer.call for answer in answers if answer.refused]
    pure = [one for one in candidates(refused, answered) if not any(one.holds(call) for call in answered)]
    return refused, pure


def _leaves_some(answers: Sequence[Answer]) -> bool:
    """Return whether no predicate distinguishes some refused call from all answered ones."""
    refused, pure = _refused_and_pure(answers)
    return any(not any(one.holds(call) for one in pure) for call in refused)
