"""Calls of an operation in a worker, with the methods of calls in this process."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from veriformer.adapters.errors import OperationLost, OperationNotTried, OperationTimedOut
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.frames import Frame, MalformedFrame
from veriformer.adapters.isolation.supervisor import Supervisor
from veriformer.adapters.results import Result, Shape


@dataclass(frozen=True)
class Residence:
    """Where an isolated implementation runs: a worker, and the number of the copy that it loads."""

    supervisor: Supervisor
    copy: int = 0

    def another(self) -> Residence:
        """Return the residence of another copy, which is loaded when it is first called."""
        return replace(self, copy=self.supervisor.next_number())

    def call(self, operation: str, arguments: Mapping[str, Any], calls: int = 1) -> RemoteCall:
        """Return a call, or a chain of `calls`, that is sent when it is first made.

        `arguments` are those of `prepare`, or of `prepare_sequence` with its steps, without the implementation.
        """
        return RemoteCall(self, operation, arguments, calls)


@dataclass(eq=False)
class RemoteCall:
    """A call, or a chain of calls, that a worker prepares once and makes repeatedly on the same arrays."""

    residence: Residence
    operation: str
    arguments: Mapping[str, Any]
    calls: int
    _number: int = field(init=False)
    # The generation of the worker that has the arguments.
    _generation: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        supervisor = self.residence.supervisor
        self._number = supervisor.next_number()
        weakref.finalize(self, supervisor.forget, self._number).atexit = False

    def run(self, expected_shapes: Sequence[Shape] | None = None) -> Result:
        """Make the call and return its result in the canonical layout.

        Raises what `PreparedCall.run` raises, OperationLost when the process was lost, and AdapterError when the call
        changed the state of the process.
        """
        return self._results("run", 1, expected_shapes, self.calls)[0]

    def run_again_on(
        self, other: RemoteCall, expected_shapes: Sequence[Shape] | None = None
    ) -> tuple[Result, Result, Result]:
        """Make the call, overwrite its arrays with those of `other`, and make it again; see `PreparedCall`."""
        first, afterwards, second = self._results("run_again_on", 3, expected_shapes, 2, other)
        return first, afterwards, second

    def arguments_now(self) -> dict[str, np.ndarray]:
        """Return the present values of the framework's arrays, by name."""
        frame = self._ask("arguments_now", None, 1, None)
        try:
            return messages.arrays_in(frame)
        except MalformedFrame as error:
            raise self.residence.supervisor.distrust(self.operation) from error

    def _results(
        self, method: str, number: int, expected: Sequence[Shape] | None, calls: int, other: RemoteCall | None = None
    ) -> list[Result]:
        frame = self._ask(method, expected, calls, other)
        try:
            return messages.results_in(frame, number)
        except MalformedFrame as error:
            raise self.residence.supervisor.distrust(self.operation) from error

    def _ask(self, method: str, expected: Sequence[Shape] | None, calls: int, other: RemoteCall | None) -> Frame:
        """Return the reply to a request; one that the process did not survive is repeated once in a fresh process."""
        supervisor, before, lost = self.residence.supervisor, self._answered_before(), None
        try:
            frame = self._asked(method, expected, calls, other)
            if not messages.is_of_shortage(frame):
                return self._without_error(frame)
            how = messages.raised_words(frame)
        except OperationNotTried:
            raise
        except OperationLost as error:
            lost, how = error, error.how
        if supervisor.renew(self.operation, before, lost):
            started = time.monotonic()
            frame = self._asked(method, expected, calls, other)
            if isinstance(lost, OperationTimedOut) and supervisor.is_as_slow(time.monotonic() - started, calls):
                # The first call in a process may take longer, so that its answer proves nothing.
                supervisor.count(self.operation, lost)
                raise lost
            lost = None
            if not messages.is_of_shortage(frame):
                supervisor.note(self.operation, how, before)
        if lost is not None:
            raise lost
        return self._without_error(frame)

    def _answered_before(self) -> int:
        """Return how many calls the present process has answered."""
        self.residence.supervisor.loaded()
        return self.residence.supervisor.answered

    def _asked(self, method: str, expected: Sequence[Shape] | None, calls: int, other: RemoteCall | None) -> Frame:
        supervisor = self.residence.supervisor
        supervisor.loaded()
        message = {
            "method": method,
            "expected": expected,
            "call": self._message(),
            "other": None if other is None else other._message(),
        }
        first = supervisor.compiles and self._sizes not in supervisor.met
        frame = supervisor.ask(self.operation, message, calls, first=first)
        supervisor.met.add(self._sizes)
        return frame

    @cached_property
    def _sizes(self) -> int:
        """What makes a compiler compile again: the operation and its copy, shapes, dtypes, and other arguments."""
        return hash((self.operation, self.residence.copy, _sizes_of(self.arguments)))

    def _without_error(self, frame: Frame) -> Frame:
        try:
            error = messages.error_in(frame, self.operation)
        except MalformedFrame as malformed:
            raise self.residence.supervisor.distrust(self.operation) from malformed
        if error is not None:
            raise error
        return frame

    def _message(self) -> dict[str, Any]:
        """Return the call for a request, with its arguments if this worker does not have them yet."""
        generation = self.residence.supervisor.generation
        known, self._generation = generation == self._generation, generation
        arguments = None if known else dict(self.arguments)
        return {"number": self._number, "copy": self.residence.copy, "arguments": arguments}


def _sizes_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.name
    if isinstance(value, SimpleNamespace):
        return _sizes_of(vars(value))
    if isinstance(value, Mapping):
        return tuple((name, _sizes_of(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_sizes_of, value))
    return repr(value)
