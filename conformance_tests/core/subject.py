"""One operation of the implementation under test, as the laws call it: NumPy in, NumPy out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from veriformer.adapters.calling import Call, OneCall, Result, prepare
from veriformer.adapters.errors import AdapterError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.results import join
from veriformer.adapters.sequences import prepare_sequence
from veriformer.conformance_tests.core.first_calls import FirstCalls
from veriformer.conformance_tests.core.inputs import Inputs, Shape
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import Operation


def shape_words(shapes: tuple[Shape, ...]) -> str:
    """Return shapes as a sentence names them."""
    return f"shape{'s' if len(shapes) > 1 else ''} {', '.join(map(str, shapes))}"


class WrongShape(Exception):
    """The operation returned arrays of shapes other than the interface's."""

    def __init__(self, operation: str, expected: tuple[Shape, ...], received: tuple[Shape, ...]) -> None:
        super().__init__(f"{operation} returned {shape_words(received)}; expected {shape_words(expected)}")
        self.expected = expected
        self.received = received


class Refused(Protocol):
    """A refusal of an operation, and the sentence that describes it."""

    @property
    def sentence(self) -> str:
        """The refusal in one sentence."""
        ...

    @property
    def declared(self) -> bool:
        """Whether the implementation declares it as a limitation."""
        ...

    @property
    def words(self) -> str:
        """The sentence, with the exception that a call ended in."""
        ...

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords and parts of law ids that denote the refusal."""
        ...


class CallRefused(AdapterError):
    """The call was not made, because the operation is known to refuse it."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


class Refusals(Protocol):
    """The known refusals of an operation."""

    def about(self, inputs: Inputs) -> Refused | None:
        """Return the known refusal that these inputs meet; None if the call may be made."""
        ...

    def learn(self, raised: Inputs | None = None) -> bool:
        """Find out, at the first exception, what is refused; return whether this is new knowledge."""
        ...


@dataclass(frozen=True)
class EarlierCache:
    """A cache as an argument: that which the call of this number returned, counted from 0 in the list of calls."""

    call: int

    def __str__(self) -> str:
        return f"that of call {self.call + 1}"


@dataclass(frozen=True)
class CallRecord:
    """One call that was made: canonical arguments and the result, None if it raised.

    `shapes` are those of a tuple's parts. `derived_from` names the operation whose derivative the call is, if any.
    `inputs` are the source of the arguments.
    """

    operation: str
    dtype: str
    arguments: dict[str, Any]
    result: Array | None
    shapes: tuple[Shape, ...] = ()
    derived_from: str = ""
    inputs: Inputs | None = field(default=None, repr=False, compare=False)


@dataclass
class Subject:
    """An operation of an implementation, called under its conventions; it remembers the calls of the last case. Calls
    that it is known to refuse raise CallRefused.
    """

    implementation: Implementation
    operation: Operation
    conventions: Mapping[str, str]
    calls: list[CallRecord] = field(default_factory=list)
    refusals: Refusals | None = field(default=None, repr=False, compare=False)
    first_calls: FirstCalls = field(default_factory=FirstCalls, repr=False, compare=False)
    # The last call on strided arrays: made again, it would be another.
    _strided: Call | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def features(self) -> frozenset[str]:
        """The optional keywords that the implementation has."""
        return self.implementation.features(self.operation.name)

    def prepare(self, inputs: Inputs, *, strided: bool = False) -> Call:
        """Convert the inputs to the implementation's arrays without calling it."""
        call: Call
        if steps := inputs.steps:
            call = prepare_sequence(self.implementation, steps, inputs.arguments(), dtype=inputs.dtype, strided=strided)
        else:
            call = self._prepare_one(inputs, strided=strided)
        self._strided = call if strided else self._strided
        return call

    def _prepare_one(self, inputs: Inputs, *, strided: bool = False) -> OneCall:
        return prepare(
            self.implementation,
            inputs.operation,
            self._regrouped(inputs.arguments()),
            dtype=inputs.dtype,
            layout=self.conventions.get("layout", "bhld"),
            mask_polarity=self.conventions.get("mask_polarity", "true_attends"),
            strided=strided,
        )

    def run(self, prepared: Call, inputs: Inputs) -> Result:
        """Make a prepared call, remember it, and return the result with any shape; CallRefused."""
        self._not_refused(inputs)
        result = self._run_steps(prepared, inputs) if inputs.steps else self._run_one(prepared, inputs)
        self._count(inputs, result if prepared is not self._strided else None)
        return result

    def _count(self, inputs: Inputs, result: Result | None) -> None:
        """Count a call among the first; one that cannot be repeated exactly has no result here."""
        answer = None
        if result is not None and result.shapes == inputs.result_shapes:
            answer = self._ungrouped(result.value, inputs)
        self.first_calls.add(inputs, self.conventions, answer)

    @contextmanager
    def _timed(self, calls: int = 1) -> Iterator[None]:
        """Time calls, in which NumPy warns as ever: what it says of them is printed by the implementation."""
        with self.implementation.stopwatch.timing(calls), np.errstate(divide="warn", over="warn", invalid="warn"):
            yield

    def _run_one(self, prepared: Call, inputs: Inputs) -> Result:
        origin = self.implementation.derived.get(inputs.operation, "")
        call = inputs.operation, inputs.dtype, inputs.arguments()
        self.calls.append(CallRecord(*call, None, (), origin, inputs))
        with self._timed():
            result = prepared.run(inputs.result_shapes)
        self.calls[-1] = CallRecord(*call, result.value, result.shapes, origin, inputs)
        return result

    def _run_steps(self, prepared: Call, inputs: Inputs) -> Result:
        """Make a chain of calls and remember each: if one raises, none of them has a result."""
        start, shared = len(self.calls), inputs.arguments()
        for step in inputs.steps:
            cache = None if step.after is None else EarlierCache(start + step.after)
            arguments = {"tokens": step.tokens, "cache": cache, **shared, **step.keywords}
            self.calls.append(CallRecord(inputs.operation, inputs.dtype, arguments, None, inputs=inputs))
        with self._timed(len(inputs.steps)):
            result = prepared.run(inputs.result_shapes)
        if result.value.ndim == 3 and result.shapes == inputs.result_shapes:
            at = 0
            for number, step in enumerate(inputs.steps, start):
                logits = result.value[:, at : at + step.tokens.shape[1]]
                self.calls[number] = replace(self.calls[number], result=logits)
                at += step.tokens.shape[1]
        return result

    def run_again_on(self, inputs: Inputs, others: Inputs) -> tuple[Array, Array]:
        """Call, overwrite the arguments with others of their shapes, and call again on the same arrays.

        Returns the first result as it was at once, and as it is after the second call. Chains of calls have no such
        pair: TypeError. CallRefused if either is refused.
        """
        _, (first, afterwards, _) = self._run_twice(inputs, others)
        return first.value, afterwards.value

    def call_where_others_stood(self, inputs: Inputs, others: Inputs) -> Array | None:
        """Return the result of a call on arrays that held other values in the previous call. None if arrays cannot be
        overwritten, or if the calls differ in more than the contents of their arrays. Raises what `run_again_on`
        raises.
        """
        if not _differ_in_arrays_alone(inputs.arguments(), others.arguments()):
            return None
        prepared, (*_, second) = self._run_twice(others, inputs)
        if second.shapes != inputs.result_shapes:
            raise WrongShape(inputs.operation, inputs.result_shapes, second.shapes)
        values = self._prepare_one(inputs).arguments_now()
        written = prepared.arguments_now()
        same = all(np.array_equal(values[name], array, equal_nan=True) for name, array in written.items())
        return self._ungrouped(second.value, inputs) if same else None

    def _run_twice(self, inputs: Inputs, others: Inputs) -> tuple[OneCall, tuple[Result, Result, Result]]:
        if inputs.steps or others.steps:
            raise TypeError(f"{inputs.operation} is a chain of calls")
        self._not_refused(inputs)
        self._not_refused(others)
        prepared, overwriting = self._prepare_one(inputs), self._prepare_one(others)
        records = [CallRecord(i.operation, i.dtype, i.arguments(), None) for i in (inputs, others)]
        self.calls.extend(records)
        with self._timed(2):
            results = prepared.run_again_on(overwriting, inputs.result_shapes)
        first = results[0]
        self.calls[-2:] = [replace(records[0], result=first.value, shapes=first.shapes), records[1]]
        self._count(inputs, first)
        # Not every framework's arrays can be overwritten: the arguments of the second call are unknown here.
        self._count(others, None)
        return prepared, results

    def call(self, inputs: Inputs, *, strided: bool = False) -> Array:
        """Call the operation; WrongShape when the result does not have the interface's shape."""
        return self.answer(self.prepare(inputs, strided=strided), inputs)

    def answer(self, prepared: Call, inputs: Inputs) -> Array:
        """Make a prepared call; WrongShape when the result does not have the interface's shape."""
        result = self.run(prepared, inputs)
        if result.shapes != inputs.result_shapes:
            raise WrongShape(inputs.operation, inputs.result_shapes, result.shapes)
        return self._ungrouped(result.value, inputs)

    def _not_refused(self, inputs: Inputs) -> None:
        refusal = None if self.refusals is None else self.refusals.about(inputs)
        if refusal is not None:
            raise CallRefused(refusal)

    @property
    def _tiles(self) -> bool:
        """Whether heads are reordered around the call: a general declaration concerns few operations."""
        declared = self.conventions.get("kv_grouping", "repeat_each")
        return declared == "tile" and "kv_grouping" in self.operation.conventions

    def _regrouped(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Reorder query heads for an implementation that declares that head h reads key/value head h mod G."""
        if not self._tiles or "key" not in arguments:
            return arguments
        order = _tiled_order(arguments["query"].shape[1], arguments["key"].shape[1])
        reordered = {"query": arguments["query"][:, order]}
        if "grad_output" in arguments:
            reordered["grad_output"] = arguments["grad_output"][:, order]
        for name in ("mask", "bias"):
            table = arguments.get(name)
            if table is not None and table.ndim == 4 and table.shape[1] > 1:
                reordered[name] = table[:, order]
        if arguments.get("sinks") is not None:
            reordered["sinks"] = arguments["sinks"][order]
        return arguments | reordered

    def _ungrouped(self, value: Array, inputs: Inputs) -> Array:
        if not self._tiles:
            return value
        arguments = inputs.arguments()
        if "key" not in arguments:
            return value
        order = np.argsort(_tiled_order(arguments["query"].shape[1], arguments["key"].shape[1]))
        if not isinstance(inputs, SeveralResults):
            return value[:, order]
        # Of the gradients that of the queries has a row for each query head.
        parts = {name: inputs.part(name)(value) for name in inputs.parts}
        return join([part[:, order] if name == "grad_query" else part for name, part in parts.items()])


def _tiled_order(heads: int, kv_heads: int) -> Array:
    """Return for each head of a tiling implementation the head that reads the same key/value head here."""
    return np.arange(heads).reshape(kv_heads, -1).T.reshape(-1)


def standard_conventions() -> dict[str, str]:
    """Return every convention at its standard value."""
    return {name: convention.standard for name, convention in CONVENTIONS.items()}


def _differ_in_arrays_alone(one: Any, other: Any) -> bool:
    """Return whether arguments, or parts of them, have equal sizes and equal values where they are no arrays."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.shape == other.shape
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_differ_in_arrays_alone(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_differ_in_arrays_alone, one, other))
    return _differ_in_arrays_alone(vars(one), vars(other)) if hasattr(one, "__dict__") else bool(one == other)
