"""Mistakes that are no choice in a formula: each has laws of its own, which name it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.diagnosis.diagnosis import Suspect
from veriformer.conformance_tests.diagnosis.interface_laws import (
    FOLLOWING,
    INTERFACE_LAWS,
    OF_HISTORY,
    OF_STATE,
    RANDOM,
    WRITING_TO,
    is_interface_law,
    keys_broken_by,
    keys_stopped_by,
)
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.spec.laws import LAWS

# A mistake named by laws is less sure than one that was reproduced.
_HIGHEST = 0.5
# Below this, all suspects together, the laws are those that many other mistakes break as well.
_LEAST_SURE = 0.2
_MOST = 3
# Two programs with one mistake nearly always have more than this share of their broken laws in common.
_LEAST_EXPLAINED = 0.5
# Twice the excess of another law may be chance, because the cases differ.
_MUCH_MORE = 4.0
_SAME_CALLS = "worked_examples"
# A wrong formula may compute larger numbers than the right one, with larger roundings.
_ROUNDINGS = 16.0
_OF_WRONG_NUMBERS = 1e-5


def telling(broken: Sequence[LawResult]) -> tuple[str, ...]:
    """Return the ids of the broken laws that are not broken merely in consequence of another.

    Where shapes are wrong, that explains the laws that could not compare anything. Where a result is wrong, that
    explains the same comparison on rarer cases, or of two memory layouts, if it fails by no more; and two results of
    one call that differ by as little as the roundings of wrong numbers do.
    """
    # A call that raises neither obeys an interface law nor breaks it.
    own_words = [result for result in broken if result.status == "failed" or not is_interface_law(result.law.id)]
    own_words = own_words or list(broken)
    if any(_key(result) == "shape" for result in own_words):
        own_words = [result for result in own_words if _key(result) == "shape" or not _stopped_by_shape(result)]
    failing = [result for result in own_words if result.status == "failed"]
    largest = max((one.largest_excess for one in failing if not is_interface_law(one.law.id)), default=0.0)
    if largest > _ROUNDINGS:
        own_words = [result for result in own_words if not _repeats_nearly(result, largest)]
    plain = [result for result in own_words if _key(result) == "value" and result.status == "failed"]
    if plain:
        own_words = [result for result in own_words if result is plain[0] or not _follows(result, plain[0])]
    return tuple(result.law.id for result in own_words)


def _key(result: LawResult) -> str:
    return result.law.claim.key


def _repeats_nearly(result: LawResult, largest: float) -> bool:
    """Return whether results that should be equal differ by no more than roundings of wrong numbers do.

    The `largest` excess of another law tells how wrong the numbers are: those that are far too large are rounded so.
    """
    excess = result.largest_excess
    nearly = 0.0 < excess <= max(_ROUNDINGS, _OF_WRONG_NUMBERS * largest) and math.isfinite(excess)
    return nearly and _key(result) in ("memory_layout", *OF_STATE)


def _stopped_by_shape(result: LawResult) -> bool:
    calls = result.counterexample.calls if result.counterexample else ()
    return result.status == "error" and any(_of_wrong_shape(call) for call in calls)


def _of_wrong_shape(call: CallRecord) -> bool:
    return call.inputs is not None and call.result is not None and call.shapes != call.inputs.result_shapes


def _follows(result: LawResult, plain: LawResult) -> bool:
    same = laws()[result.law.id].check is laws()[plain.law.id].check
    return (same or _key(result) == "memory_layout") and result.largest_excess <= _MUCH_MORE * plain.largest_excess


def suspects_with_a_second(
    operation: str, broken: Sequence[LawResult], refuted: Collection[str]
) -> tuple[Suspect, ...]:
    """Return the mistakes that the broken laws name, each with a second one where laws failed that it does not break.

    A law that ends with an error does not show a second mistake: the first may have stopped it.
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
    """Return the mistakes with which no program was seen to raise in any of these laws, all of which ended so."""
    keys = {_key(result) for result in broken}
    return frozenset(slug for slug in catalogue() if keys_stopped_by(slug).isdisjoint(keys))


def _joined(suspect: Suspect, other: Suspect | None) -> Suspect:
    if other is None:
        return suspect
    return Suspect((*sorted((*suspect.mistakes, *other.mistakes)),), suspect.confidence * other.confidence)


def _second(operation: str, first: str, broken: Collection[str], refuted: Collection[str]) -> Suspect | None:
    """Return the likeliest mistake behind the laws that the first was never seen to break.

    A broken interface law shows a second mistake; other laws do only where the second breaks all of them.
    """
    rest = [law for law in broken if LAWS[law].claim.key not in keys_broken_by(first)]
    if of_interface := [law for law in rest if is_interface_law(law)]:
        return next(iter(suspects_by_laws(operation, of_interface, refuted)), None)
    # Results that depend on earlier calls may be wrong anywhere.
    anywhere = not keys_broken_by(first).isdisjoint(OF_HISTORY)
    if anywhere or not any(is_interface_law(law) for law in catalogue()[first].laws):
        return None
    left = {LAWS[law].claim.key for law in rest}
    suspects = suspects_by_laws(operation, rest, refuted)
    return next((one for one in suspects if left <= keys_broken_by(one.mistakes[0])), None)


def left_by(suspect: Suspect, broken: Sequence[LawResult]) -> tuple[str, ...]:
    """Return the broken laws that programs with the suspect's mistakes were never seen to break, or to raise in."""
    seen, stopped = (
        frozenset[str]().union(*(keys_of(slug) for slug in suspect.mistakes))
        for keys_of in (keys_broken_by, keys_stopped_by)
    )
    if not seen.isdisjoint({_key(result) for result in broken} & {*OF_HISTORY}):
        # Results that depend on earlier calls may be wrong anywhere.
        return ()
    unseen = (result for result in broken if _key(result) not in seen)
    return tuple(result.law.id for result in unseen if result.status == "failed" or _key(result) not in stopped)


def weighed(suspect: Suspect, broken: Sequence[LawResult]) -> Suspect | None:
    """Return the suspect, surer the more of the broken laws it explains; None where it leaves most unexplained.

    A mistake that breaks an interface law may break any other law, in one program and not in another, but for the
    worked examples: these are the same few plain calls in each program.
    """
    left = left_by(suspect, broken)
    if any(LAWS[law].claim.key == _SAME_CALLS for law in left):
        return None
    own = {law for slug in suspect.mistakes for law in catalogue()[slug].laws if is_interface_law(law)}
    if not own.isdisjoint(result.law.id for result in broken):
        return suspect
    explained = 1 - len(left) / len(broken)
    return replace(suspect, confidence=suspect.confidence * explained) if explained >= _LEAST_EXPLAINED else None


def refuted_by_interface_laws(broken: Sequence[LawResult]) -> frozenset[str]:
    """Return the mistakes that the interface laws refute, by which of them are broken and how."""
    keys = {_key(result) for result in broken}
    # A program that gives one result twice in a row is not random.
    random = {RANDOM} if "history_independence" in keys and "same_call_same_answer" not in keys else frozenset[str]()
    return writing_elsewhere(broken).union(random)


def writing_elsewhere(broken: Sequence[LawResult]) -> frozenset[str]:
    """Return the mistakes that write to an argument other than those seen to be written to; empty where none was."""
    seen = [one.counterexample.verdict for one in broken if _key(one) == "inputs_unchanged" and one.counterexample]
    written = " ".join(verdict.actual for verdict in seen if isinstance(verdict.actual, str)).replace(",", " ").split()
    return frozenset(slug for slug, argument in WRITING_TO.items() if seen and argument not in written)


def formulas_of(operation: str) -> frozenset[str]:
    """Return the mistakes that are options of an operation's family."""
    family = family_of(operation)
    decisions = () if family is None else family.all_decisions.values()
    return frozenset(option.slug for decision in decisions for option in decision.options)


def suspects_by_laws(
    operation: str, broken: Collection[str], refuted: Collection[str] = frozenset()
) -> tuple[Suspect, ...]:
    """Return the mistakes whose own laws are broken and that are not refuted, the likeliest first.

    A mistake is the likelier the larger the share of its laws for the operation that is broken, and the fewer other
    mistakes break these laws. Every mistake breaks the law that the result is the formula's.
    """
    every = {
        slug: {law for law in entry.laws if LAWS[law].operation.name == operation}
        for slug, entry in catalogue().items()
        if slug not in refuted
    }
    own = _of_broken_interface_law(every, broken)
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


def _of_broken_interface_law(own: Mapping[str, set[str]], broken: Collection[str]) -> Mapping[str, set[str]]:
    """Return the mistakes that break the first broken interface law that has any; all mistakes where none is broken.

    Laws that are broken in consequence of an interface law count for no mistake.
    """
    following: set[str] = set()
    for key in INTERFACE_LAWS:
        laws = {law for law in broken if LAWS[law].claim.key == key}
        if key in following or not laws:
            continue
        if found := {slug: its for slug, its in own.items() if its & laws}:
            return found
        following.update(FOLLOWING.get(key, ()))
    return {slug: {law for law in its if LAWS[law].claim.key not in following} for slug, its in own.items()}
