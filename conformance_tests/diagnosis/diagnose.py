"""From the broken laws of an operation to the mistake that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from random import Random

from veriformer.conformance_tests.cases.limits import Limits
from veriformer.conformance_tests.cases.spaces import MASK_KINDS, AttentionSpace, NoSpace, Space
from veriformer.conformance_tests.cases.strategies import cases, own_space, resolved
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.diagnosis.elimination import Changes, Elimination, differ, mistakes_of
from veriformer.conformance_tests.diagnosis.named_by_laws import FORMULAS_KEEP, suspects_by_laws, telling
from veriformer.conformance_tests.diagnosis.observation import Observation, arguments_of, calm, observed, result_at
from veriformer.conformance_tests.families import Point, family_of
from veriformer.conformance_tests.inference import Profile
from veriformer.conformance_tests.inputs import draw_inputs
from veriformer.conformance_tests.law import laws
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.report import LawResult
from veriformer.conformance_tests.search import Search as LawSearch
from veriformer.conformance_tests.subject import Inputs
from veriformer.spec.laws import LAWS
from veriformer.spec.laws.law import LawStatement

# Calls taken from counterexamples, calls drawn, and the time that one operation may cost.
_MOST_OBSERVATIONS = 16
_MOST_DRAWS = 120
_MOST_COMPILED_DRAWS = 12
_MOST_DRAWS_TO_DEVIATE = 24
_SECONDS = 1.5
_PAIR = 0.9
_WIDEST = ("float64", "float32", "bfloat16", "float16")


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
    if family is not None:
        base = family.under(_known(profile))
        search = _Search(profile, broken, limits, base)
        standing, elimination = search.run()
        calls, excluded = len(elimination.observations), elimination.tried
        if standing:
            suspects = beside_broken_promises(operation, ranked(base, standing), telling(broken))
            return Diagnosis(
                operation,
                "reproduced",
                suspects,
                names,
                calls=calls,
                excluded=excluded - len(standing),
                separated_by=search.separating(standing) if len(suspects) > 1 else "",
            )
    suspects = suspects_by_laws(operation, telling(broken))
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


def beside_broken_promises(operation: str, suspects: tuple[Suspect, ...], broken: Sequence[str]) -> tuple[Suspect, ...]:
    """Return the suspects, each together with what breaks a law that no formula breaks, where one is broken."""
    promises = [law for law in broken if LAWS[law].claim.key in FORMULAS_KEEP]
    others = suspects_by_laws(operation, promises)[:1]
    return (
        tuple(
            Suspect(
                tuple(sorted({*suspect.mistakes, *other.mistakes})),
                suspect.confidence * other.confidence,
                suspect.changes,
            )
            for suspect in suspects
            for other in others
        )
        or suspects
    )


def _known(profile: Profile) -> Mapping[str, str]:
    return profile.subject.conventions


class _Search:
    """What elimination needs of an implementation: the calls that broke laws, and more inputs to call it on."""

    def __init__(self, profile: Profile, broken: Sequence[LawResult], limits: Limits, base: Point) -> None:
        self.subject = profile.subject
        self.broken = broken
        self.base = base
        widest = min(limits.dtypes, key=_WIDEST.index)
        self.limits = replace(limits, dtypes=(widest,))

    def run(self) -> tuple[list[Changes], Elimination]:
        """Return the changes that explain everything, and the elimination that found them."""
        elimination = Elimination(
            self.base, self._observations(), self._draws(), self._observe, _SECONDS, self._declared()
        )
        # A law may see what is too little beside rounding to name it; if other calls do not, the formula is right.
        for _, inputs in zip(range(_MOST_DRAWS_TO_DEVIATE), self._draws(), strict=False):
            if any(observation.deviates for observation in elimination.observations):
                return elimination.standing(), elimination
            if (observation := self._observe(inputs)) is not None:
                elimination.observations.append(observation)
        return [], elimination

    def _declared(self) -> frozenset[str]:
        """Return the conventions at which nobody needs to guess."""
        implementation, operation = self.subject.implementation, self.subject.operation.name
        names = (decision.convention for decision in self.base.family.all_decisions.values())
        return frozenset(
            name for name in names if name and implementation.declared_convention(name, operation) is not None
        )

    def separating(self, standing: Sequence[Changes]) -> str:
        """Return what an input is like on which two of the changes differ; empty where none was drawn."""
        free = replace(self.limits, features=frozenset(self.subject.operation.features))
        for _, (description, inputs) in zip(range(_MOST_DRAWS), self._drawn(free), strict=False):
            results = [result_at(self.base.changed(*changes), arguments_of(inputs)) for changes in standing]
            if differ(results):
                return description
        return ""

    def _observe(self, inputs: Inputs) -> Observation | None:
        found = observed(self.subject, inputs, self.base)
        return None if found is None or found.overflowed else found

    def _observations(self) -> list[Observation]:
        inputs: dict[int, Inputs] = {}
        for result in self.broken:
            for record in result.counterexample.calls if result.counterexample else ():
                if record.inputs is not None and record.operation == self.subject.operation.name:
                    inputs[id(record.inputs)] = record.inputs
        ordered = sorted(inputs.values(), key=lambda one: sum(map(_entries, one.arguments().values())))
        found = (self._observed_widely(one) for one in ordered[:_MOST_OBSERVATIONS])
        return calm([observation for observation in found if observation is not None])

    def _observed_widely(self, inputs: Inputs) -> Observation | None:
        """Observe a call in the widest dtype, where candidates lie furthest apart; else as it was."""
        widest = _in_dtype(inputs, self.limits.dtypes[0])
        observation = observed(self.subject, widest, self.base)
        if widest is inputs or (observation is not None and observation.deviates):
            return observation
        return observed(self.subject, inputs, self.base)

    def _draws(self) -> Iterator[Inputs]:
        """Yield inputs as drawn, and in turn with them what the broken laws make of theirs."""
        most = _MOST_COMPILED_DRAWS if self.limits.compiles_per_shape else _MOST_DRAWS
        made = self._made_by_laws()
        for _, (_, inputs) in zip(range(most), self._drawn(self.limits), strict=False):
            yield inputs
            yield from (inputs for inputs in islice(made, 1) if inputs is not None)

    def _made_by_laws(self) -> Iterator[Inputs | None]:
        """Yield the inputs of the last call that each broken law makes on new cases: vectors as small as eps, say."""
        tried = [laws()[result.law.id] for result in self.broken]
        choices = [(law, cases(law.space, self.limits)) for law in tried if not isinstance(law.space, NoSpace)]
        random = Random(self.limits.seed + 1)
        while choices:
            for law, choice in choices:
                search = LawSearch(law, self.subject, self.limits, self.limits.seed, 1)
                search.judge(choice.sample(random))
                yield self.subject.calls[-1].inputs if self.subject.calls else None

    def _drawn(self, limits: Limits) -> Iterator[tuple[str, Inputs]]:
        """Yield inputs from the operation's own space, in which everything meets, and from those of the broken laws."""
        name = self.subject.operation.name
        spaces = dict.fromkeys([ample_space(name), *(_space(result.law) for result in self.broken)])
        choices = [cases(space, limits) for space in spaces if not isinstance(space, NoSpace)]
        in_turn = [choice for other in choices[1:] for choice in (choices[0], other)] or choices
        random = Random(limits.seed)
        while in_turn:
            for choice in in_turn:
                case = choice.sample(random)
                yield case.describe(), draw_inputs(name, case)


def _space(statement: LawStatement) -> Space:
    return resolved(laws()[statement.id].space, statement.operation.name)


def ample_space(operation: str) -> Space:
    """Return the operation's ordinary cases with every optional input, rows without a key among them."""
    space = own_space(operation)
    if not isinstance(space, AttentionSpace):
        return space
    return replace(
        space, window="sometimes", softcap="sometimes", sinks="sometimes", mask_kinds=(*MASK_KINDS, "empty_rows")
    )


def _in_dtype(inputs: Inputs, dtype: str) -> Inputs:
    """Return inputs of the same values in a wider dtype, the same object where that is its own."""
    has_dtype = is_dataclass(inputs) and any(entry.name == "dtype" for entry in fields(inputs))
    return inputs if not has_dtype or inputs.dtype == dtype else replace(inputs, dtype=dtype)  # type: ignore[type-var]


def _entries(value: object) -> int:
    return int(getattr(value, "size", 1))
