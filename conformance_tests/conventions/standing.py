"""Laws judged under every value of a convention that still stands, where under the one taken some are broken.

What one combination of values explains, the same for every law of the operation and every call, is no violation. Where
none explains everything, one that explains some of it and breaks nothing else is nearer to what the program does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.conventions.profile import Finding, Profile
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult, is_broken
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.refusals.reporting import without_refusals

# So many combinations are tried on the cases of so many broken laws, and those by which most of these cases are right
# are tried on everything: a law on all its cases takes as long as many combinations on one case.
_MOST_COMBINATIONS = 24
_ASKED_FIRST = 12
_MOST_JUDGED = 4

# Whether a law holds on the one case that broke it, and its result on all of its cases.
OnCase = Callable[[Profile, LawResult], bool]
OnAll = Callable[[Profile, Law], LawResult]


def under(profile: Profile, values: Mapping[str, str]) -> Profile:
    """Return an operation under other values of its conventions, which are then inferred."""
    findings = tuple(
        replace(finding, value=values[finding.convention], how="inferred", standing=())
        if finding.convention in values
        else finding
        for finding in profile.findings
    )
    conventions = {**profile.subject.conventions, **values}
    return replace(profile, subject=replace(profile.subject, conventions=conventions, calls=[]), findings=findings)


def others_standing(profile: Profile) -> Iterator[dict[str, str]]:
    """Yield the changes of every other combination of values that stand, few changes before many."""
    unknown = [finding for finding in profile.findings if finding.unknown]
    combined = [_changed(unknown, values) for values in product(*(finding.standing for finding in unknown))]
    combined.sort(key=len)
    yield from combined[1 : 1 + _MOST_COMBINATIONS]


def _changed(unknown: Sequence[Finding], values: Sequence[str]) -> dict[str, str]:
    pairs = zip(unknown, values, strict=True)
    return {finding.convention: value for finding, value in pairs if value != finding.value}


def told_by_calls(profile: Profile, drawn: Sequence[Inputs]) -> Profile:
    """Return an operation under the values that stand and explain most results of some calls.

    Where all combinations that do have one value of a convention in common, that is inferred.
    """
    combinations = [{}, *others_standing(profile)]
    if len(combinations) == 1:
        return profile
    right = [_explained(under(profile, values), drawn) for values in combinations]
    most = max(right, key=len)
    left = [values for values, its in zip(combinations, right, strict=True) if its == most]
    findings = [_left_standing(finding, left) for finding in profile.findings]
    told = under(profile, {one.convention: one.value for one in findings})
    return replace(told, findings=tuple(findings))


def _explained(profile: Profile, drawn: Sequence[Inputs]) -> frozenset[int]:
    """Return the numbers of the calls whose results are those of the reference."""
    return frozenset(number for number, inputs in enumerate(drawn) if _is_right(profile.subject, inputs))


def _is_right(subject: Subject, inputs: Inputs) -> bool:
    try:
        output = subject.call(inputs)
    except (AdapterError, WrongShape):
        return False
    expected = inputs.expected(subject.conventions)
    return compare(expected.value, output, expected.allowed, expected.judged).holds


def _left_standing(finding: Finding, left: Sequence[Mapping[str, str]]) -> Finding:
    if not finding.unknown:
        return finding
    values = {combination.get(finding.convention, finding.value) for combination in left}
    standing = tuple(value for value in finding.standing if value in values)
    if len(standing) == 1:
        return replace(finding, value=standing[0], how="inferred", standing=())
    return replace(finding, value=finding.value if finding.value in standing else standing[0], standing=standing)


def explaining(
    profile: Profile,
    others: Sequence[Profile],
    laws: Sequence[Law],
    results: Sequence[LawResult],
    on_case: OnCase,
    on_all: OnAll,
) -> tuple[Profile, dict[str, LawResult]] | None:
    """Return the operation under the values that explain most of what is broken, and the result of every law there.

    `others` is the operation under every other combination of values that stand; `results` are those under the values
    of `profile`. None where no other values explain any of it, or only by breaking laws that hold. What is refused is
    neither explained nor broken.
    """
    unknown = {finding.convention for finding in profile.findings if finding.unknown}
    broken = [result for result in map(without_refusals, results) if is_broken(result)]
    if not broken or not all(result.answered for result in broken):
        return None
    broken.sort(key=lambda result: not _about(result, unknown))
    first = {result.law.id for result in broken}
    in_order = sorted(laws, key=lambda law: law.id not in first)
    for other in _most_promising(others, broken[:_ASKED_FIRST], on_case):
        changed = {name for name in unknown if other.subject.conventions[name] != profile.subject.conventions[name]}
        about = {result.law.id for result in broken if _about(result, changed)}
        judged = _judged(other, in_order, first, about, on_all)
        if judged is not None:
            return other, judged
    return None


def _about(result: LawResult, conventions: Collection[str]) -> bool:
    return not set(conventions).isdisjoint(result.law.claim.conventions)


def _most_promising(others: Sequence[Profile], broken: Sequence[LawResult], on_case: OnCase) -> list[Profile]:
    """Return the operation under the combinations by which some broken laws hold on their cases, most laws first."""
    holding = [(other, sum(on_case(other, result) for result in broken)) for other in others]
    promising = [(other, count) for other, count in holding if count]
    return [other for other, _ in sorted(promising, key=lambda pair: -pair[1])[:_MOST_JUDGED]]


def _judged(
    profile: Profile, laws: Sequence[Law], broken: set[str], about: set[str], on_all: OnAll
) -> dict[str, LawResult] | None:
    """Return the result of every law, the `broken` first; None where others break, or over three quarters still do.

    A value that explains less than a quarter makes up for what a mistake does to a law or two, unless it explains all
    laws `about` its convention.
    """
    judged: dict[str, LawResult] = {}
    for law in laws:
        judged[law.id] = on_all(profile, law)
        left = {name for name, result in judged.items() if is_broken(without_refusals(result))}
        explains_its_own = bool(about) and left.isdisjoint(about)
        if left - broken or (4 * len(left) > 3 * len(broken) and not explains_its_own):
            return None
    return judged
