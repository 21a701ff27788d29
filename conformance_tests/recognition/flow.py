"""How values flow through a recorded pass: who made a value, who uses it, and what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step, Trace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import DOUBLE, unit_of

# Steps that hand numbers on.
_MOVING = (Kind.REARRANGEMENT, Kind.LOOKUP)


class Flow:
    """The graph of a trace. Values and steps are named by their indices."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps: Sequence[Step] = trace.steps
        self._made_by: dict[int, int] = {}
        self._used_by: dict[int, list[int]] = {}
        self._units: dict[int, float] = {}
        for index, step in enumerate(trace.steps):
            for operand in dict.fromkeys(step.operands):
                self._used_by.setdefault(operand, []).append(index)
            # A step that fills nothing in place gives back what it took, and made nothing.
            for result in set(step.results).difference(step.operands):
                self._made_by.setdefault(result, index)

    def array(self, value: int) -> Array:
        """Return the numbers of a value."""
        return self.trace.values[value].array

    def shape(self, value: int) -> tuple[int, ...]:
        """Return the shape of a value."""
        return tuple(self.trace.values[value].array.shape)

    def maker(self, value: int) -> int | None:
        """Return the step that made a value; None for what the model was given."""
        return self._made_by.get(value)

    def making(self, value: int) -> Step | None:
        """Return the same step as a record."""
        made = self._made_by.get(value)
        return None if made is None else self.steps[made]

    def users(self, value: int) -> Sequence[int]:
        """Return the steps that take a value."""
        return self._used_by.get(value, ())

    @cached_property
    def _from_input(self) -> frozenset[int]:
        return self._reached(self.trace.inputs)

    @cached_property
    def _from_parameters(self) -> frozenset[int]:
        origins = [index for index, value in enumerate(self.trace.values) if value.origin == "parameter"]
        return self._reached(origins)

    def _reached(self, starts: Sequence[int]) -> frozenset[int]:
        """Return all values that depend on some of these. Steps are in order, so that one pass suffices."""
        reached = set(starts)
        for step in self.steps:
            if not reached.isdisjoint(step.operands):
                reached.update(step.results)
        return frozenset(reached)

    def depends_on_input(self, value: int) -> bool:
        """Return whether a value would change with the model's inputs."""
        return value in self._from_input

    def depends_on_parameters(self, value: int) -> bool:
        """Return whether a value would change with the model's parameters."""
        return value in self._from_parameters

    def is_fixed(self, value: int) -> bool:
        """Return whether a value is the same for all inputs: a parameter, a table, or made of these alone."""
        return value not in self._from_input

    def parameters_of(self, value: int) -> tuple[str, ...]:
        """Return the paths of the parameters that a value is made of, in order."""
        names = [
            self.trace.values[one].name
            for one in sorted(self.ancestors(value))
            if self.trace.values[one].origin == "parameter"
        ]
        return tuple(dict.fromkeys(names))

    def ancestors(self, value: int, stop: Callable[[int], bool] = lambda _: False) -> dict[int, int]:
        """Return a value and all that it was made from, with the number of steps between.

        What is behind a value for which `stop` is true is left out, that value itself is not.
        """
        distance = {value: 0}
        queue = [value]
        for one in queue:
            made = self.making(one)
            if made is None or (one != value and stop(one)):
                continue
            for operand in made.operands:
                if operand not in distance:
                    distance[operand] = distance[one] + 1
                    queue.append(operand)
        return distance

    def descendants(self, value: int, stop: Callable[[int], bool] = lambda _: False) -> dict[int, int]:
        """Return a value and all that was made from it, with the number of steps between; `stop` as in `ancestors`."""
        distance = {value: 0}
        queue = [value]
        for one in queue:
            if one != value and stop(one):
                continue
            for user in self.users(one):
                for result in self.steps[user].results:
                    if result not in distance:
                        distance[result] = distance[one] + 1
                        queue.append(result)
        return distance

    def source(self, value: int) -> int:
        """Return the value that this one is a rearrangement of, followed back as far as every number is kept."""
        while True:
            step = self.making(value)
            if step is None or step.kind != Kind.REARRANGEMENT:
                return value
            floating = [one for one in step.operands if self.array(one).dtype.kind == "f"]
            if len(floating) != 1 or self.array(floating[0]).size != self.array(value).size:
                return value
            if not self._same_numbers(floating[0], value):
                return value
            value = floating[0]

    def computed(self, value: int) -> int:
        """Return the value that this one was made from by moving, repeating or caching its numbers alone."""
        while True:
            step = self.making(value)
            if step is None or step.kind != Kind.REARRANGEMENT:
                return value
            filled = [one for one in step.operands if self.array(one).dtype.kind == "f" and self.array(one).size]
            if len(filled) != 1 or not self.depends_on_input(filled[0]):
                return value
            value = filled[0]

    def handed_on(self, value: int, *, scaled: bool = False) -> Iterator[int]:
        """Yield a value and those that it was moved from, one after the other; if `scaled`, past a number's factor."""
        while True:
            yield value
            step = self.making(value)
            if step is None:
                return
            moving = [one for one in step.operands if self.array(one).dtype.kind == "f" and self.depends_on_input(one)]
            others = (one for one in step.operands if one not in moving)
            is_scaled = scaled and step.kind == Kind.OTHER and all(self.array(one).size == 1 for one in others)
            if len(moving) != 1 or not (step.kind == Kind.REARRANGEMENT or is_scaled):
                return
            (value,) = moving

    def _same_numbers(self, first: int, second: int) -> bool:
        one, other = self.array(first).ravel(), self.array(second).ravel()
        if np.array_equal(one, other) or np.array_equal(np.sort(one), np.sort(other)):
            return True
        # A cast rounds: models that compute norms in float32 cast what they read and what they give.
        return bool(np.array_equal(one.astype(np.float32), other.astype(np.float32)))

    def unit(self, value: int) -> float:
        """Return the unit roundoff of the precision that a value was computed in, float64's for what was given."""
        if value not in self._units:
            kept = self._kept(value)
            self._units[value] = self._unit(value) if kept is None else self.unit(kept)
        return self._units[value]

    def _unit(self, value: int) -> float:
        step = self.making(value)
        computed = step is not None and (step.kind not in _MOVING or self._rounds(step))
        array = self.array(value)
        says = computed and array.dtype.kind == "f" and self.depends_on_input(value)
        return unit_of(array) if says else DOUBLE

    def _kept(self, value: int) -> int | None:
        """Return the operand whose numbers a step leaves as they are: one to which zero is added, or times one."""
        step = self.making(value)
        if step is None or step.kind in _MOVING or step.results[0] != value:
            return None
        array = self.array(value)
        same = (one for one in step.operands if one != value and np.array_equal(self.array(one), array))
        return next(same, None)

    def _rounds(self, step: Step) -> bool:
        """Return whether a step changes numbers and keeps their shape, as a cast to a coarser precision does."""
        before, after = self.array(step.operands[0]), self.array(step.results[0])
        both = before.dtype.kind == "f" and after.dtype.kind == "f" and before.shape == after.shape
        return step.kind == Kind.REARRANGEMENT and both and bool(np.any(before.ravel()[:4096] != after.ravel()[:4096]))

    def unit_between(self, start: int, end: int) -> float:
        """Return the coarsest unit roundoff of what is computed on the ways from one value to another."""
        results = (one for index in self.between(start, end) for one in self.steps[index].results)
        return max((self.unit(one) for one in results), default=DOUBLE)

    def between(self, start: int, end: int) -> Iterator[int]:
        """Yield the steps on the ways from one value to another, in order."""
        last = self.maker(end)
        if last is None:
            return
        # Nothing before the start is made from it, and nothing behind the end leads there.
        first = self.maker(start)
        behind, reached = {start}, []
        for index in range(0 if first is None else first + 1, last + 1):
            if not behind.isdisjoint(self.steps[index].operands):
                behind.update(self.steps[index].results)
                reached.append(index)
        ahead, found = {end}, []
        for index in reversed(reached):
            step = self.steps[index]
            if not ahead.isdisjoint(step.results):
                found.append(index)
                ahead.update(step.operands)
        yield from reversed(found)
