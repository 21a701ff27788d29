"""Mistakes that are no choice in a formula: they have laws of their own, and are named by those laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.diagnosis.promises import (
    FOLLOWING,
    OF_HISTORY,
    OF_STATE,
    PROMISES,
    RANDOM,
    WRITING_TO,
    is_promise,
    keys_broken_by,
    keys_stopped_by,
)
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.spec.laws import LAWS

# No formula was reproduced: less sure than what was.
_HIGHEST = 0.5
# What is less sure than this, all suspects together, rests on laws that many other mistakes break as well.
_LEAST_SURE = 0.2
_MOST = 3
# Of the laws that one program with a mistake breaks, another one with it breaks nearly always more than this.
_LEAST_EXPLAINED = 0.5
# Twice the excess of another law may be chance: the cases are others.
_MUCH_MORE = 4.0
# A wrong formula may make larger numbers of its arguments, which round worse.
_ROUNDINGS = 16.0


def telling(broken: Sequence[LawResult]) -> tuple[str, ...]:
    """Return the ids of the broken laws that say something of their own.

    Where shapes are wrong, laws that could not compare anything for it say nothing beyond the law of the shape. Where
    the result is not the formula's, neither does the same comparison on rarer cases, or of two memory layouts, that
    fails by no more; nor do two answers to one question that differ as little as roundings of wrong numbers do.
    """
    # A call that raises keeps no promise and breaks none.
    own_words = [result for result in broken if result.status == "failed" or not is_promise(result.law.id)]
    own_words = own_words or list(broken)
    if any(_key(result) == "shape" for result in own_words):
        own_words = [result for result in own_words if _key(result) == "shape" or not _stopped_by_shape(result)]
    failing = [result for result in own_words if result.status == "failed"]
    if any(not is_promise(result.law.id) and result.largest_excess > _ROUNDINGS for result in failing):
        own_words = [result for result in own_words if not _repeats_nearly(result)]
    plain = [result for result in own_words if _key(result) == "value" and result.status == "failed"]
    if plain:
        own_words = [result for result in own_words if result is plain[0] or not _follows(result, plain[0])]
    return tuple(result.law.id for result in own_words)


def _key(result: LawResult) -> str:
    return result.law.claim.key


def _repeats_nearly(result: LawResult) -> bool:
    """Return whether answers that should be one differ by a few times what rounding may do to the right result."""
    return _key(result) in ("memory_layout", *OF_STATE) and 0.0 < result.largest_excess <= _ROUNDINGS


def _stopped_by_shape(result: LawResult) -> bool:
    calls = result.counterexample.calls if result.counterexample else ()
    return result.status == "error" and any(_of_wrong_shape(call) for call in calls)


def _of_wrong_shape(call: CallRecord) -> bool:
    return call.inputs is not None and call.result is not None and call.shapes != call.inputs.result_shapes


def _follows(result: LawResult, plain: LawResult) -> bool:
    same = laws()[result.law.id].check is laws()[plain.law.id].check
    return (same or _key(result) == "memory_layout") and result.largest_excess <= _MUCH_MORE * plain.largest_excess


def suspects_beside_each_other(
    operation: str, broken: Sequence[LawResult], refuted: Collection[str]
) -> tuple[Suspect, ...]:
    """Return the mistakes that the broken laws name; with each a second one, where laws failed that it keeps.

    What ends with an error tells nothing of a second one: the first may have stopped it.
    """
    own_words = telling(broken)
    if all(result.status == "error" for result in broken):
        refuted = {*refuted, *_never_stopping(broken)}
    failed = [result.law.id for result in broken if result.status == "failed" and result.law.id in own_words]
    suspects = suspects_by_laws(operation, own_words, refuted)
    if sum(suspect.confidence for suspect in suspects) < _LEAST_SURE:
        return ()
    return tuple(_joined(suspect, _second(operation, suspect.mistakes[0], failed, refuted)) for suspect in suspects)


def _never_stopping(broken: Sequence[LawResult]) -> frozenset[str]:
    """Return the mistakes with which no program was seen to stop any of these laws, as all of them are stopped."""
    keys = {_key(result) for result in broken}
    return frozenset(slug for slug in catalogue() if keys_stopped_by(slug).isdisjoint(keys))


def _joined(suspect: Suspect, other: Suspect | None) -> Suspect:
    if other is None:
        return suspect
    return Suspect((*sorted((*suspect.mistakes, *other.mistakes)),), suspect.confidence * other.confidence)


def _second(operation: str, first: str, broken: Collection[str], refuted: Collection[str]) -> Suspect | None:
    """Return the likeliest mistake behind the laws that the first was never seen to break.

    A law that no formula breaks speaks for a second mistake; any others must all be among those that it breaks.
    """
    rest = [law for law in broken if LAWS[law].claim.key not in keys_broken_by(first)]
    if promises := [law for law in rest if is_promise(law)]:
        return next(iter(suspects_by_laws(operation, promises, refuted)), None)
    # Answers that depend on calls before may be wrong anywhere.
    anywhere = not keys_broken_by(first).isdisjoint(OF_HISTORY)
    if anywhere or not any(is_promise(law) for law in catalogue()[first].laws):
        return None
    left = {LAWS[law].claim.key for law in rest}
    suspects = suspects_by_laws(operation, rest, refuted)
    return next((one for one in suspects if left <= keys_broken_by(one.mistakes[0])), None)


def left_by(suspect: Suspect, broken: Sequence[LawResult]) -> tuple[str, ...]:
    """Return the broken laws that programs with the suspect's mistakes were never seen to break, or to stop."""
    seen, stopped = (
        frozenset[str]().union(*(keys_of(slug) for slug in suspect.mistakes))
        for keys_of in (keys_broken_by, keys_stopped_by)
    )
    if not seen.isdisjoint({_key(result) for result in broken} & {*OF_HISTORY}):
        # Answers that depend on calls before may be wrong anywhere.
        return ()
    unseen = (result for result in broken if _key(result) not in seen)
    return tuple(result.law.id for result in unseen if result.status == "failed" or _key(result) not in stopped)


def weighed(suspect: Suspect, broken: Sequence[LawResult]) -> Suspect | None:
    """Return a suspect that is the surer the more of the broken laws it explains; None where it leaves most of them.

    Who breaks a promise may break any law besides, as it happens in one program and not in another.
    """
    own = {law for slug in suspect.mistakes for law in catalogue()[slug].laws if is_promise(law)}
    if not own.isdisjoint(result.law.id for result in broken):
        return suspect
    explained = 1 - len(left_by(suspect, broken)) / len(broken)
    return replace(suspect, confidence=suspect.confidence * explained) if explained >= _LEAST_EXPLAINED else None


def refuted_by_promises(broken: Sequence[LawResult]) -> frozenset[str]:
    """Return the mistakes that cannot be made where these promises are broken, and broken as they are."""
    keys = {_key(result) for result in broken}
    # What answers alike twice in a row is not random.
    random = {RANDOM} if "history_independence" in keys and "same_call_same_answer" not in keys else frozenset[str]()
    return writing_elsewhere(broken).union(random)


def writing_elsewhere(broken: Sequence[LawResult]) -> frozenset[str]:
    """Return the mistakes that write to an argument other than those that a law saw written to; none where none did."""
    seen = [one.counterexample.verdict for one in broken if _key(one) == "inputs_unchanged" and one.counterexample]
    written = " ".join(verdict.actual for verdict in seen if isinstance(verdict.actual, str)).replace(",", " ").split()
    return frozenset(slug for slug, argument in WRITING_TO.items() if seen and argument not in written)


def formulas_of(operation: str) -> frozenset[str]:
    """Return the mistakes that an operation's family shows."""
    family = family_of(operation)
    decisions = () if family is None else family.all_decisions.values()
    return frozenset(option.slug for decision in decisions for option in decision.options)


def suspects_by_laws(
    operation: str, broken: Collection[str], refuted: Collection[str] = frozenset()
) -> tuple[Suspect, ...]:
    """Return the mistakes whose own laws are broken and that are not refuted, the likeliest first.

    A mistake is the likelier the larger the part of its laws for the operation that is broken, and the more the broken
    laws that are its own say: a law says the less, the more mistakes break it; that the result is the formula's is
    broken by all.
    """
    every = {
        slug: {law for law in entry.laws if LAWS[law].operation.name == operation}
        for slug, entry in catalogue().items()
        if slug not in refuted
    }
    own = _of_broken_promise(every, broken)
    breaking = Counter(law for its_laws in own.values() for law in its_laws)
    for law in breaking:
        if LAWS[law].claim.key == "value":
            breaking[law] = sum(1 for its_laws in own.values() if its_laws)
    merits, sureness = {}, {}
    for slug, its_laws in own.items():
        if hit := its_laws & set(broken):
            said = [1 / breaking[law] for law in hit]
            sureness[slug] = _HIGHEST * max(said) * len(hit) / len(its_laws)
            merits[slug] = (len(hit) / len(its_laws), sum(said), len(catalogue()[slug].citations))
    ranked = sorted(merits, key=lambda slug: merits[slug], reverse=True)
    best = [slug for slug in ranked if merits[slug][0] == 1.0] or ranked
    shown = best[:_MOST]
    total = sum(merits[slug][1] for slug in shown)
    return tuple(Suspect((slug,), sureness[slug] * merits[slug][1] / total) for slug in shown)


def _of_broken_promise(own: Mapping[str, set[str]], broken: Collection[str]) -> Mapping[str, set[str]]:
    """Return the mistakes that break the first promise which is broken, of those that any does; all where none is.

    What follows from a promise that nobody is known to break is no mistake of its own.
    """
    following: set[str] = set()
    for promise in PROMISES:
        laws = {law for law in broken if LAWS[law].claim.key == promise}
        if promise in following or not laws:
            continue
        if found := {slug: its for slug, its in own.items() if its & laws}:
            return found
        following.update(FOLLOWING.get(promise, ()))
    return {slug: {law for law in its if LAWS[law].claim.key not in following} for slug, its in own.items()}
