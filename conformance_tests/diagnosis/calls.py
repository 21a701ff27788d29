"""The calls that a diagnosis rests on: those that broke laws, and more on drawn inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
from veriformer.adapters.loading import load_again
from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.conventions.standing import others_standing
from veriformer.conformance_tests.core.first_calls import FirstCalls
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import Subject
from veriformer.conformance_tests.diagnosis.elimination import Elimination, differ
from veriformer.conformance_tests.diagnosis.interface_laws import OF_STATE, is_interface_law
from veriformer.conformance_tests.diagnosis.observation import (
    Observation,
    arguments_of,
    finite,
    observed,
    result_at,
)
from veriformer.conformance_tests.diagnosis.pairs import Changes, Effects
from veriformer.conformance_tests.diagnosis.work import Work
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace, Space
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space, resolved
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.search.search import Search as LawSearch
from veriformer.conformance_tests.variants import Point
from veriformer.spec.laws.law import LawStatement

# At most so many calls are taken from counterexamples, and so many are drawn.
_MOST_OBSERVATIONS = 64
_MOST_DRAWS = 120
# The same where a framework compiles for each shape.
_MOST_COMPILED_DRAWS = 12
_COMPILED_CONFIRMATIONS = 8
_MOST_ANSWERS_TO_DEVIATE = 24
# Mistakes are looked for under so many combinations of values of unknown conventions.
_MOST_STANDING = 6
_MOST_REPEATED = 12
_STEPS_TO_REPEAT = 30_000
_STEPS_TO_SEPARATE = 40_000
# 16 roundings of bfloat16, relative to the largest result: sums in 16 bits differ by less where the layout in memory
# decides the order of addition.
_MORE_THAN_HALVES_ROUND = 2.0**-4
_WIDEST = ("float64", "float32", "bfloat16", "float16")


class Until(NamedTuple):
    """The steps of work, counted from the start, at which the search for single mistakes and that for pairs end."""

    alone: int = 200_000
    in_pairs: int = 600_000


UNTIL = Until()


class Calls:
    """What elimination needs from an implementation: the calls that broke laws, and more inputs to call it on."""

    def __init__(
        self, profile: Profile, broken: Sequence[LawResult], limits: Limits, base: Point, work: Work | None = None
    ) -> None:
        self.subject = profile.subject
        self.afresh = _depends_on_history(broken)
        self.only_moderate = self.has_stale_state = self.wrong_from_the_first_call = False
        self.broken = broken
        self.base = base
        self.work = work or Work()
        other_values = (base.changes_to(values) for values in others_standing(profile))
        self.unknown = list(islice(filter(None, other_values), _MOST_STANDING))
        self._effects = Effects()
        self._as_called = False
        widest = min(limits.dtypes, key=_WIDEST.index)
        self.limits = replace(limits, dtypes=(widest,))

    def explained(self) -> tuple[list[Changes], Elimination]:
        """Return the changes that explain every call, and the elimination that found them.

        Where nothing does, results may depend on earlier calls: then the calls of copies that have just been loaded are
        explained. Or large numbers may overflow in an order of steps that no formula has: then the calls with moderate
        numbers are explained, unless a pair of mistakes explains all.
        """
        everything = self._elimination(self._observations(), UNTIL.alone)
        found, elimination = self._searched(everything, Elimination.alone)
        if not found and not self.afresh and self._depends_on_calls_before():
            self.afresh = self.has_stale_state = True
            everything = self._elimination(self._observations(), UNTIL.in_pairs)
            found, elimination = self._searched(everything, Elimination.alone)
        everything.end = UNTIL.in_pairs
        if found and self.only_moderate:
            return self._pairs_with_large_numbers(everything) or (found, elimination)
        return (found, elimination) if found else self._searched(everything, Elimination.in_pairs)

    def _pairs_with_large_numbers(self, everything: Elimination) -> tuple[list[Changes], Elimination] | None:
        """Return pairs that explain every call, one mistake of each showing only with large numbers; None if none."""
        self.only_moderate = False
        pairs = everything.in_pairs()
        self.only_moderate = not pairs
        return (pairs, everything) if pairs else None

    def _searched(
        self, everything: Elimination, search: Callable[[Elimination], list[Changes]]
    ) -> tuple[list[Changes], Elimination]:
        """Return what explains every call, or where nothing does, what explains those with moderate numbers.

        What explains every call explains the moderate ones too: one search, among these, finds both.
        """
        observations, doubtful = (
            [one for one in part if one.moderate] for part in (everything.observations, everything.doubtful)
        )
        moderate = replace(everything, observations=observations, doubtful=doubtful)
        all_moderate = (observations, doubtful) == (everything.observations, everything.doubtful)
        self.only_moderate = moderate.deviates and not all_moderate
        if not self.only_moderate:
            return search(everything), everything
        found = search(moderate)
        everything.tried, everything.pairs_left = moderate.tried, moderate.pairs_left
        explaining = [changes for changes in found if everything.explains(changes)]
        self.only_moderate = bool(found) and not explaining
        return (found, moderate) if self.only_moderate else (explaining, everything)

    def _elimination(self, observations: list[Observation], end: float) -> Elimination:
        draws, declared = self._draws(), self._declared()
        elimination = Elimination(
            self.base, observations, draws, self._observe, self.work, end, declared, self._effects
        )
        elimination.unknown = self.unknown
        if self.limits.compiles_per_shape:
            elimination.confirmations = _COMPILED_CONFIRMATIONS
        # A law may see a deviation that rounding nearly hides. Where no other call deviates, the formula is right.
        answered = 0
        for inputs in self._draws():
            if elimination.deviates or answered == _MOST_ANSWERS_TO_DEVIATE or self.work.over(end):
                break
            if (observation := self._observe(inputs)) is not None:
                observations.append(observation)
                answered += 1
        elimination.confirm()
        return elimination

    def _declared(self) -> frozenset[str]:
        implementation, operation = self.subject.implementation, self.subject.operation.name
        names = (decision.convention for decision in self.base.family.all_decisions.values())
        return frozenset(
            name for name in names if name and implementation.declared_convention(name, operation) is not None
        )

    def separating(self, standing: Sequence[Changes]) -> str:
        """Return the description of an input on which two of the changes differ; empty where none was drawn."""
        free = replace(self.limits, features=frozenset(self.subject.operation.features))
        end = self.work.done + _STEPS_TO_SEPARATE
        for description, inputs in self._drawn(free):
            if self.work.over(end):
                break
            self.work.compute(self.work.largest, len(standing))
            results = [result_at(self.base.changed(*changes), arguments_of(inputs)) for changes in standing]
            if differ(results):
                return description
        return ""

    def shows(self, result: LawResult) -> bool:
        """Return whether a formula can be compared with the calls of a broken law."""
        calls = result.counterexample.calls if result.counterexample else ()
        return not self.afresh and all(call.inputs is not None and finite(arguments_of(call.inputs)) for call in calls)

    def reading_layouts(self, formula: Point) -> list[str]:
        """Return the broken laws of memory layouts for which a formula fits contiguous arrays and not strided ones."""
        broken = (one for one in self.broken if one.law.claim.key == "memory_layout" and one.status == "failed")
        return [result.law.id for result in broken if self._reads_layout(result, formula)]

    def _reads_layout(self, result: LawResult, formula: Point) -> bool:
        inputs = result.counterexample.calls[-1].inputs if result.counterexample else None
        if inputs is None:
            return False
        contiguous, strided = (observed(self.subject, inputs, self.base, strided=strided) for strided in (False, True))
        if contiguous is None or strided is None:
            return False
        least = _MORE_THAN_HALVES_ROUND * float(np.abs(contiguous.output).max(initial=0.0))
        same = np.allclose(contiguous.output, strided.output, rtol=0.0, atol=least, equal_nan=True)
        return not same and contiguous.fits(formula) and not strided.fits(formula)

    def _depends_on_calls_before(self) -> bool:
        """Return whether a copy that has just been loaded gives other results; note whether it is wrong as well."""
        if not self.loads_again:
            return False
        end = self.work.done + _STEPS_TO_REPEAT
        for inputs in self._calls_that_broke_laws()[:_MOST_REPEATED]:
            if self.work.over(end):
                break
            before, after = self._observed_of(self.subject, inputs), self._observed_afresh(inputs)
            if before is not None and after is not None and not before.agrees(after.output):
                return True
            self.wrong_from_the_first_call |= after is not None and after.deviates
        return False

    def _observe(self, inputs: Inputs) -> Observation | None:
        if self._as_called and self._is_rearranged(inputs):
            return None
        found = self._observed(inputs)
        if found is None or found.overflowed or (self.only_moderate and not found.moderate):
            return None
        return found

    def _observed(self, inputs: Inputs) -> Observation | None:
        """Observe a call; where results depend on earlier calls, the call of a copy that has just been loaded."""
        if self.afresh and self.loads_again:
            return self._observed_afresh(inputs)
        return self._observed_of(self.subject, inputs)

    @property
    def loads_again(self) -> bool:
        """Whether the implementation is a file, which can be loaded again; Python keeps modules."""
        source = self.subject.implementation.source
        return source is not None and source.endswith(".py")

    def copy(self) -> Subject:
        """Return the operation of a copy of the implementation that has just been loaded."""
        implementation = load_again(self.subject.implementation)
        return replace(self.subject, implementation=implementation, calls=[], first_calls=FirstCalls())

    def _observed_afresh(self, inputs: Inputs) -> Observation | None:
        return self._observed_of(self.copy(), inputs)

    def _observed_of(self, subject: Subject, inputs: Inputs) -> Observation | None:
        found = observed(subject, inputs, self.base)
        self.work.observe(self.work.largest if found is None else found.steps)
        return found

    def _calls_that_broke_laws(self) -> list[Inputs]:
        """Return the inputs of the calls that a formula may explain, the smallest first."""
        inputs: dict[int, Inputs] = {}
        for result in self.broken:
            calls = result.counterexample.calls if result.counterexample else ()
            own = [record.inputs for record in calls if record.operation == self.subject.operation.name]
            # A law compares its first call with its last. No formula explains a broken interface law.
            for one in () if is_interface_law(result.law.id) else (*own[:1], *own[-1:]):
                if one is not None:
                    inputs[id(one)] = one
        return sorted(inputs.values(), key=lambda one: sum(map(_entries, one.arguments().values())))

    def _observations(self) -> list[Observation]:
        """Observe the calls that broke laws.

        A wrong formula does something else where the function is called with other samples than the operation's: the
        calls that reach it as they are speak alone, where one of them is wrong.
        """
        inputs = self._calls_that_broke_laws()[:_MOST_OBSERVATIONS]
        apart = [one for one in inputs if self._is_rearranged(one)]
        as_called = self._all_observed([one for one in inputs if not self._is_rearranged(one)])
        self._as_called = bool(apart) and any(one.deviates for one in as_called)
        return as_called if self._as_called or not apart else [*as_called, *self._all_observed(apart)]

    def _all_observed(self, inputs: Sequence[Inputs]) -> list[Observation]:
        found = (self._observed_widely(one) for one in inputs)
        return [observation for observation in found if observation is not None]

    def _is_rearranged(self, inputs: Inputs) -> bool:
        return self.subject.implementation.is_rearranged(self.subject.operation.name, inputs.arguments())

    def _observed_widely(self, inputs: Inputs) -> Observation | None:
        """Observe a call in the widest dtype, in which candidates differ most; where that is right, in its own."""
        widest = _in_dtype(inputs, self.limits.dtypes[0])
        observation = self._observed(widest)
        if widest is inputs or (observation is not None and observation.deviates):
            return observation
        return self._observed(inputs)

    def _draws(self) -> Iterator[Inputs]:
        """Yield drawn inputs in turn with the inputs that the broken laws make."""
        most = _MOST_COMPILED_DRAWS if self.limits.compiles_per_shape else _MOST_DRAWS
        made = self._made_by_laws()
        for _, (_, inputs) in zip(range(most), self._drawn(self.limits), strict=False):
            yield inputs
            yield from (inputs for inputs in islice(made, 1) if inputs is not None)

    def _made_by_laws(self) -> Iterator[Inputs | None]:
        """Yield the inputs of each broken law's last call on a new case, such as vectors as small as eps."""
        tried = [laws()[result.law.id] for result in self.broken]
        choices = [(law, cases(law.space, self.limits)) for law in tried if not isinstance(law.space, NoSpace)]
        random = Random(self.limits.seed + 1)
        while choices:
            for law, choice in choices:
                search = LawSearch(law, self.subject, self.limits, self.limits.seed, 1)
                search.judge(choice.sample(random))
                self.work.observe(self.work.largest)
                yield self.subject.calls[-1].inputs if self.subject.calls else None

    def _drawn(self, limits: Limits) -> Iterator[tuple[str, Inputs]]:
        """Yield inputs from the operation's own space, with every feature, and from those of the broken laws."""
        name = self.subject.operation.name
        spaces = dict.fromkeys([ample_space(name), *(_space(result.law) for result in self.broken)])
        choices = [cases(space, limits) for space in spaces if not isinstance(space, NoSpace)]
        in_turn = [choice for other in choices[1:] for choice in (choices[0], other)] or choices
        random = Random(limits.seed)
        while in_turn:
            for choice in in_turn:
                case = choice.sample(random)
                yield case.describe(), draw_inputs(name, case)


def _depends_on_history(broken: Sequence[LawResult]) -> bool:
    return any(result.status == "failed" and result.law.claim.key in OF_STATE for result in broken)


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
